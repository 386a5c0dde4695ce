package harness

import (
	"math"
	"strconv"
	"strings"
	"time"

	"hank/internal/lazyregexp"
)

// phrase is a wording that decides, tried in the order of the table.
type phrase struct {
	name, class string
	re          *lazyregexp.Regexp
}

func say(name, class, pattern string) phrase {
	return phrase{name, class, lazyregexp.New(`(?i)` + pattern)}
}

// phrases are wordings of providers and of network libraries. Each needs
// enough words around it to be an error message and not a topic.
var phrases = []phrase{
	say("rate-limit", ClassRateLimit, `\brate[ _-]limit(?:s|ed|ing|_error|_exceeded)?\b|\btoo many requests\b|\brequests? (?:was|were) throttled\b|\bquota exceeded\b.*\bper (?:second|minute)\b|\b(?:requests|tokens) per (?:second|minute|min)\b`),
	say("usage-limit", ClassUsageLimit, `\b(?:usage|session|weekly|daily|monthly|\d-hour|hourly) limit (?:was |has been |is )?(?:reached|exceeded|hit)\b|\b(?:reached|hit|exceeded) your (?:[\w-]+ )?(?:usage |session |weekly |daily |hourly |\d-hour )limit\b|\b(?:reached|hit) your limit\b|\bquota (?:has been |is |was )?exhausted\b.*\bresets?\b|\bquota will reset\b`),
	say("billing", ClassBilling, `\bcredit balance\b|\binsufficient[ _](?:credits?|funds|balance|quota)\b|\bbilling[ _](?:error|details|account|hard limit|issue|period)\b|\b(?:exceeded|over|reached|hit) (?:your|the|its) (?:current |monthly |weekly )?(?:quota|usage limit|spend(?:ing)? limit|plan limit)\b|\b(?:usage|quota|spend(?:ing)?) (?:limit )?(?:exceeded|reached|exhausted)\b|\b(?:out of|no remaining|not enough) (?:credits?|budget)\b|\bavailable balance\b|\bpayment required\b`),

	// AWS Bedrock says these with several exception types; none of them goes away by itself.
	say("bedrock-token", ClassAuth, `\bsecurity token included in the request is (?:invalid|expired)\b|\bExpiredToken(?:Exception)?\b|\bUnrecognizedClientException\b`),
	say("bedrock-credentials", ClassAuth, `\bcould not (?:load|resolve) credentials\b|\bunable to locate credentials\b`),
	say("bedrock-access", ClassAuth, `\bnot authorized to perform: bedrock\b|\bdon't have access to the model\b|\bAccessDeniedException\b`),
	say("bedrock-model", ClassInvalidRequest, `\bprovided model identifier is invalid\b|\bon-demand throughput isn.t supported\b|\bmodel version has reached (?:the )?end of its life\b|\bmodel use case details have not been submitted\b`),

	say("context-overflow", ClassContextOverflow, `\bprompt is too long\b|\bcontext_length_exceeded\b|\bmaximum context length\b|\bcontext window (?:is full|exceeded|limit)\b|\bexceeds? the (?:model's )?(?:maximum )?context\b`),
	say("max-output", ClassMaxOutput, `\bexceeded the\b.*\boutput token maximum\b`),
	say("timeout", ClassTimeout, `\b(?:request|connection|operation|response|read|gateway|stream|idle) (?:has )?(?:timed out|time-?out)\b|\bETIMEDOUT\b|\bdeadline exceeded\b|^timed out\b|\btimed out (?:after|waiting|while)\b`),
	say("auth", ClassAuth, `\b(?:invalid|incorrect|missing|expired|revoked|no) (?:x-)?api[ -]?key\b|\bapi[ -]?key (?:is |was |has been )?(?:invalid|missing|expired|revoked|not (?:found|set|valid))\b|\bnot logged in\b|\bplease run /login\b|\b(?:oauth|access|bearer) token (?:is |has |was )?(?:been )?(?:invalid|expired|revoked)\b|\binvalid (?:bearer|oauth|access) token\b|\bauthentication[ _](?:error|failed|required)\b|\bfailed to authenticate\b|^(?:unauthorized|forbidden)(?:\W*$|[:.])`),
	say("invalid-request", ClassInvalidRequest, `\binvalid[ _]request(?:_error)?\b|\bvalidationexception\b|\bvalidation error:|\bmodel[ _]not[ _]found\b|\bissue with the selected model\b`),
	say("unreachable", ClassUnreachable, `\b(?:ECONNRESET|ECONNREFUSED|ECONNABORTED|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)\b|\bunable to connect\b|\bfetch failed\b|\bsocket hang up\b|\bsocket connection was closed\b|\bconnection (?:was )?(?:reset|closed|refused|dropped|error|lost)\b|\bnetwork (?:error|failure|is unreachable|connection (?:lost|error|failed))\b|\bstream (?:was )?(?:ended|closed|terminated|disconnected) (?:unexpectedly|prematurely|before)\b|\bno such host\b`),
	say("overloaded", ClassOverloaded, `\boverloaded(?:_error)?\b|\binternal server error\b|\bbad gateway\b|\bservice (?:is )?(?:temporarily )?unavailable\b|\bserver-side issue\b`),
}

// remedies are added to the message when a rule decided whose words do not
// tell what to do.
var remedies = map[string]string{
	"text:bedrock-token":         "renew the AWS credentials, for instance with aws sso login",
	"text:bedrock-credentials":   "set AWS credentials: AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
	"text:bedrock-access":        "request access to the model in the Bedrock console, and check region and IAM policy",
	"text:bedrock-model":         "use an inference profile's id that this region offers",
	"word:ExpiredTokenException": "renew the AWS credentials, for instance with aws sso login",
}

func everything(string) bool { return true }

// refining are the classes that a 400 or a 429 may mean.
func refining(class string) bool {
	return class == ClassUsageLimit || class == ClassBilling || class == ClassContextOverflow || class == ClassMaxOutput
}

func byPhrase(text string, may func(class string) bool) (class, rule string) {
	for _, p := range phrases {
		if may(p.class) && p.re.MatchString(text) {
			return p.class, "text:" + p.name
		}
	}
	return "", ""
}

// maxRetryAfter is the longest wait that is believed: what says more than an
// hour is a daily limit or nonsense, and the back-off decides instead.
const maxRetryAfter = time.Hour

const (
	units = `(?:\d{1,9}(?:\.\d{1,9})?\s?(?:milliseconds?|millis|ms|minutes?|mins?|m|seconds?|secs?|s|hours?|hrs?|h)\s?,?\s?(?:and\s)?)+\b`
	bare  = `\d{1,9}(?:\.\d{1,9})?(?:[\s.,;"')\]}]|$)`
)

var (
	// retry-after-ms: 1500 · "retryAfterMs":1500
	afterMillis = lazyregexp.New(`(?i)\bretry[-_ ]?after[-_ ]?(?:ms|millis(?:econds)?)["']?\s*[:= ]\s*["']?(\d{1,9}(?:\.\d{1,9})?)\b`)
	// retry-after: 30 · retry after 1m30s · try again in 2 minutes · "retryDelay": "34s" · retrying in 5s
	afterAmount = lazyregexp.New(`(?i)\b(?:retry[-_ ]?(?:after|delay)|(?:try again|retry|retrying|wait) (?:in|after|for))["']?\s*[:= ]\s*["']?(?:about )?(` + units + `|` + bare + `)`)
	// wait 20 seconds; a bare number after "retry" counts tries
	verbAmount = lazyregexp.New(`(?i)\b(?:retry|wait) (` + units + `)`)
	amountPart = lazyregexp.New(`(?i)(\d+(?:\.\d+)?)\s?([a-z]*)`)
)

// retryAfter finds how long a text says to wait before the next try. A number
// without a unit counts seconds, as in the HTTP header; a date is not
// understood. Waits of nothing or more than an hour are ignored.
func retryAfter(text string) (time.Duration, bool) {
	var wait float64 // seconds
	if m := afterMillis.FindStringSubmatch(text); m != nil {
		wait, _ = strconv.ParseFloat(m[1], 64)
		wait /= 1000
	} else if m := afterAmount.FindStringSubmatch(text); m != nil {
		wait = seconds(m[1])
	} else if m := verbAmount.FindStringSubmatch(text); m != nil {
		wait = seconds(m[1])
	}
	d := time.Duration(math.Round(wait*1000)) * time.Millisecond
	if d <= 0 || d > maxRetryAfter {
		return 0, false
	}
	return d, true
}

// seconds adds up an amount such as "1 minute and 30 s".
func seconds(amount string) (sum float64) {
	for _, part := range amountPart.FindAllStringSubmatch(amount, -1) {
		n, _ := strconv.ParseFloat(part[1], 64)
		sum += n * unitSeconds(part[2])
	}
	return sum
}

func unitSeconds(unit string) float64 {
	unit = strings.ToLower(unit)
	switch {
	case strings.HasPrefix(unit, "ms"), strings.HasPrefix(unit, "milli"):
		return 0.001
	case strings.HasPrefix(unit, "m"):
		return 60
	case strings.HasPrefix(unit, "h"):
		return 3600
	default:
		return 1
	}
}
