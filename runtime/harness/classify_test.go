package harness

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hank/internal/short"
	"hank/plan/steps"
	"hank/state"
)

// TestStructuredFieldsDecideBeforeText gives misleading texts along with
// fields that say otherwise.
func TestStructuredFieldsDecideBeforeText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e           Evidence
		class, rule string
	}{
		{Evidence{Words: []string{"", "authentication_failed"}, Status: 500, Text: "rate limit, try again"}, ClassAuth, "word:authentication_failed"},
		{Evidence{Words: []string{"unknown", "overloaded_error"}, Text: "Your credit balance is too low"}, ClassOverloaded, "word:overloaded_error"},
		{Evidence{Words: []string{"invalid_request", "prompt_too_long"}, Status: 400}, ClassContextOverflow, "word:prompt_too_long"},
		{Evidence{Status: 529, Text: "invalid api key"}, ClassOverloaded, "status:529"},
		{Evidence{Status: 403, Text: "network error"}, ClassAuth, "status:403"},
		{Evidence{Status: 402}, ClassBilling, "status:402"},
		{Evidence{Status: 408}, ClassTimeout, "status:408"},
		{Evidence{Status: 404, Text: "overloaded"}, ClassInvalidRequest, "status:404"},
		// Statuses that are used for several things ask the text, and only for those things.
		{Evidence{Status: 400, Text: "prompt is too long: 1 > 0"}, ClassContextOverflow, "text:context-overflow"},
		{Evidence{Status: 400, Text: "Your credit balance is too low"}, ClassBilling, "text:billing"},
		{Evidence{Status: 429, Text: "You exceeded your current quota, please check your plan and billing details."}, ClassBilling, "text:billing"},
		{Evidence{Status: 429, Text: "service unavailable"}, ClassRateLimit, "status:429"},
		{Evidence{Status: 400, Text: "connection reset"}, ClassInvalidRequest, "status:400"},
		{Evidence{Words: []string{"invalid_request_error"}, Text: "what?"}, ClassInvalidRequest, "word:invalid_request_error"},
		{Evidence{Words: []string{"invalid_request_error"}, Text: "Overloaded"}, ClassOverloaded, "text:overloaded"},
		{Evidence{Status: 200, Text: "hm"}, ClassUnknown, "default:no-session"},
	} {
		got := Classify(c.e)
		if got.Class != c.class || got.Rule != c.rule {
			t.Errorf("Classify(%+v) = %s by %s, want %s by %s", c.e, got.Class, got.Rule, c.class, c.rule)
		}
	}
}

// TestTextsOfProviders holds the wordings of the reference's list.
func TestTextsOfProviders(t *testing.T) {
	t.Parallel()
	for text, class := range map[string]string{
		"Rate limit reached for requests":                                       ClassRateLimit,
		"rate_limit_error: slow down":                                           ClassRateLimit,
		"HTTP 429 Too Many Requests":                                            ClassRateLimit,
		"Quota exceeded for quota metric 'Generate requests per minute'":        ClassRateLimit,
		"API Error: Request rejected (429) · slow down":                         ClassRateLimit,
		"Credit balance is too low":                                             ClassBilling,
		"insufficient_quota":                                                    ClassBilling,
		"You have reached your usage limit":                                     ClassUsageLimit,
		"Insufficient credits. Add more":                                        ClassBilling,
		"no available balance":                                                  ClassBilling,
		"The security token included in the request is expired":                 ClassAuth,
		"Could not load credentials from any providers":                         ClassAuth,
		"User: x is not authorized to perform: bedrock:InvokeModel on resource": ClassAuth,
		"The provided model identifier is invalid.":                             ClassInvalidRequest,
		"Request timed out.":                                                    ClassTimeout,
		"API Error: Request timed out.":                                         ClassTimeout,
		"Invalid API key · Fix external API key":                                ClassAuth,
		"Not logged in · Please run /login":                                     ClassAuth,
		"OAuth token has expired":                                               ClassAuth,
		"API Error: 401 {\"type\":\"error\"}":                                   ClassAuth,
		"403 Forbidden":                                                         ClassAuth,
		"prompt is too long: 210000 tokens > 200000 maximum":                    ClassContextOverflow,
		"This model's maximum context length is 8192 tokens":                    ClassContextOverflow,
		"Claude's response exceeded the 32000 output token maximum.":            ClassMaxOutput,
		"invalid_request_error: messages: at least one":                         ClassInvalidRequest,
		"ValidationException: malformed":                                        ClassInvalidRequest,
		"read ECONNRESET":                                                       ClassUnreachable,
		"TypeError: fetch failed":                                               ClassUnreachable,
		"network error":                                                         ClassUnreachable,
		"socket hang up":                                                        ClassUnreachable,
		"getaddrinfo EAI_AGAIN api.example.com":                                 ClassUnreachable,
		"the stream ended unexpectedly":                                         ClassUnreachable,
		"Overloaded":                                                            ClassOverloaded,
		"status code: 503":                                                      ClassOverloaded,
		"HTTP/1.1 502":                                                          ClassOverloaded,
		"500 Internal Server Error":                                             ClassOverloaded,
	} {
		if got := Classify(Evidence{Text: text}); got.Class != class || !strings.HasPrefix(got.Rule, "text:") {
			t.Errorf("%q is %s by %s, want %s by text", text, got.Class, got.Rule, class)
		}
	}
}

// TestOnlyACodeOrAStatusIsARefusal: a text that says the same may be quoted from
// what the agent was working on, and other errors of these classes are the codon's.
func TestOnlyACodeOrAStatusIsARefusal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e       Evidence
		class   string
		refused bool
	}{
		{Evidence{Words: []string{"authentication_failed"}}, ClassAuth, true},
		{Evidence{Status: 401}, ClassAuth, true},
		{Evidence{Text: "API Error: 401 Unauthorized"}, ClassAuth, false},
		{Evidence{Words: []string{"model_not_found"}}, ClassInvalidRequest, true},
		{Evidence{Status: 404}, ClassInvalidRequest, true},
		{Evidence{Text: "API Error: 404"}, ClassInvalidRequest, false},
		{Evidence{Status: 400}, ClassInvalidRequest, false},
		{Evidence{Status: 413, Words: []string{"request_too_large"}}, ClassInvalidRequest, false},
		{Evidence{Words: []string{"invalid_request"}}, ClassInvalidRequest, false},
	} {
		if f := Classify(c.e); f.Class != c.class || Refused(f) != c.refused {
			t.Errorf("%+v: %s by %s, refused is %v", c.e, f.Class, f.Rule, Refused(f))
		}
	}
	if Refused(nil) {
		t.Error("no failure is a refusal")
	}
}

// TestTopicsAreNotErrors has texts that only talk about networks, quotas and
// statuses: naive substring search takes each of them for an API error.
func TestTopicsAreNotErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"I could not finish the network package's tests",
		"the neural network diverged",
		"credit card form: validation missing",
		"wrote the quota report",
		"insufficient test coverage in billing.go",
		"socket.go does not compile",
		"the stream package has 3 gaps",
		"processed 500 files, 429 of them twice",
		"line 401 of parser.go: unexpected token",
		"the timeout constant is unused",
		"authentication is documented in auth.md",
		"the OAuth chapter is missing",
		"epipeline and corporate limits",
		"overloading operators is not possible in Go",
		"forbidden words were found in chapter 3",
	} {
		if got := Classify(Evidence{Text: text}); got.Class != ClassUnknown {
			t.Errorf("%q is taken for %s by %s", text, got.Class, got.Rule)
		}
	}
}

func TestWithoutEvidenceASessionDecides(t *testing.T) {
	t.Parallel()
	if f := Classify(Evidence{Session: true}); !f.Retriable || f.Type != state.FailAPI || f.Rule != "default:session" {
		t.Errorf("with a session: %+v", f)
	}
	if f := Classify(Evidence{}); f.Retriable || f.Rule != "default:no-session" {
		t.Errorf("without a session: %+v", f)
	}
}

func TestEveryClassHasAKind(t *testing.T) {
	t.Parallel()
	classes := map[string]bool{ClassUnknown: true}
	for _, class := range words {
		classes[class] = true
	}
	for _, class := range vagueWords {
		classes[class] = true
	}
	for _, p := range phrases {
		classes[p.class] = true
	}
	for status := 0; status < 700; status++ {
		if class := statusClass(status); class != "" {
			classes[class] = true
		}
	}
	for class := range classes {
		if kinds[class].failure == "" {
			t.Errorf("class %s has no type of failure", class)
		}
	}
}

func TestBedrockErrorsNameTheRemedy(t *testing.T) {
	t.Parallel()
	f := Classify(Evidence{Text: "Could not load credentials from any providers"})
	if f.Retriable || !strings.Contains(f.Message, "AWS_PROFILE") || !strings.HasPrefix(f.Message, "Could not load") {
		t.Errorf("%+v", f)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"retry-after: 30":                            30 * time.Second,
		"Retry-After:7":                              7 * time.Second,
		`{"retry-after":"12"}`:                       12 * time.Second,
		"retry-after-ms: 1500":                       1500 * time.Millisecond,
		`"retryAfterMs":250`:                         250 * time.Millisecond,
		"please retry after 30s":                     30 * time.Second,
		"retry after 1.5 seconds":                    1500 * time.Millisecond,
		"Please try again in 2 minutes.":             2 * time.Minute,
		"Please try again in 6m0s.":                  6 * time.Minute,
		"try again in 1h":                            time.Hour,
		"try again in 1 minute and 30 seconds":       90 * time.Second,
		`"retryDelay": "34s"`:                        34 * time.Second,
		"retrying in 500ms":                          500 * time.Millisecond,
		"wait 20 seconds before the next request":    20 * time.Second,
		"retry in about 5 min":                       5 * time.Minute,
		"try again in 2 hours":                       0, // a daily limit
		"try again in 61 minutes":                    0,
		"retry after 0":                              0,
		"Retry-After: Wed, 21 Oct 2026 07:28:00 GMT": 0,
		"try again in a moment":                      0,
		"I will retry 3 times":                       0,
		"try again later":                            0,
		"retry after 99999999999999999999 seconds":   0,
		"retry after 30 files were skipped":          30 * time.Second, // a bare number is seconds
		"the limit resets at 15:00":                  0,
		"":                                           0,
	} {
		got, ok := retryAfter(text)
		if got != want || ok != (want > 0) {
			t.Errorf("retryAfter(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
}

// TestHugeTextsAreJudgedByTheirEnds: the error may follow megabytes of output.
func TestHugeTextsAreJudgedByTheirEnds(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	huge := strings.Repeat("1 m and 2 exceeded the ", 1<<20)
	for _, text := range []string{huge + "\nOverloaded", "API Error: Overloaded\n" + huge} {
		if f := Classify(Evidence{Text: text}); f.Class != ClassOverloaded {
			t.Errorf("%s by %s", f.Class, f.Rule)
		}
	}
}

func TestRetryAfterOnlyWhereTryingAgainHelps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e    Evidence
		want int64
	}{
		{Evidence{Status: 429, Text: "try again in 3s"}, 3000},
		{Evidence{Status: 429, Text: "try again in 3s", RetryAfter: time.Second}, 1000},
		{Evidence{Status: 429, Text: "try again in 3s", RetryAfter: 2 * time.Hour}, 3000},
		{Evidence{Status: 401, Text: "try again in 3s"}, 0},
	} {
		if got := Classify(c.e).RetryAfterMs; got != c.want {
			t.Errorf("%+v waits %d ms, want %d", c.e, got, c.want)
		}
	}
}

// FuzzClassify: whatever a provider says, the record stays bounded and whole.
func FuzzClassify(f *testing.F) {
	f.Add("rate_limit", 429, "try again in 3s", true)
	f.Add("", 0, "retry-after-ms: 1e9 (ECONNRESET)", false)
	f.Add("\xff", -5, strings.Repeat("é", 3000)+"try again in 999999999h", false)
	f.Fuzz(func(t *testing.T, word string, status int, text string, session bool) {
		r := Classify(Evidence{Words: []string{word}, Status: status, Text: text, Session: session})
		if r.Type == "" || r.Class == "" || r.Rule == "" {
			t.Errorf("incomplete: %+v", r)
		}
		if len(r.Message) > MaxMessage+200 || !utf8.ValidString(r.Message) {
			t.Errorf("message of %d bytes, valid %v", len(r.Message), utf8.ValidString(r.Message))
		}
		if r.RetryAfterMs < 0 || r.RetryAfterMs > maxRetryAfter.Milliseconds() {
			t.Errorf("waits %d ms", r.RetryAfterMs)
		}
	})
}

func TestExcerptKeepsBothEndsWithinItsBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "text"))
		if rapid.Bool().Draw(t, "unicode") {
			text = rapid.StringN(0, 200, 400).Draw(t, "string")
		}
		limit := rapid.IntRange(0, 200).Draw(t, "limit")
		got := Excerpt(text, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("Excerpt(%q, %d) = %q: %d bytes", text, limit, got, len(got))
		}
		clean := strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
		if len(clean) <= limit && got != clean {
			t.Fatalf("Excerpt(%q, %d) = %q though it fits", text, limit, got)
		}
		if head, tail, cut := strings.Cut(got, " […] "); cut && len(clean) > limit && limit >= 28 {
			if !strings.HasPrefix(clean, head) || !strings.HasSuffix(clean, tail) {
				t.Fatalf("Excerpt(%q, %d) = %q is not its ends", text, limit, got)
			}
		}
	})
}

func TestTailKeepsTheLastLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[a-zé]{0,400}`), 0, 40).Draw(t, "lines")
		var tail Tail
		for _, l := range lines {
			tail.Add([]byte(l))
		}
		all := strings.TrimSpace(strings.Join(lines, "\n"))
		got := tail.String()
		if len(got) > MaxMessage+2 || !utf8.ValidString(got) {
			t.Fatalf("%d bytes", len(got))
		}
		if trimmed := strings.TrimLeft(got, "\uFFFD"); !strings.HasSuffix(all, trimmed) {
			t.Fatalf("%q is not the end", got)
		}
		if len(all) < MaxMessage-1 && got != all {
			t.Fatalf("%q, want all of %q", got, all)
		}
	})
}

// Each class of a failure that another attempt may end otherwise can be named by a rule
// of retryConfig, and no rule can name one that is never retried.
func TestRulesCanNameWhatIsRetried(t *testing.T) {
	t.Parallel()
	named := []string{"rig", "skip_if", "expectation", "outputs", "silent", state.GateClass} // of hank's own
	for class, kind := range kinds {
		if kind.retriable != slices.Contains(steps.Kinds, steps.Kind(class)) && class != ClassUnknown { // which may be, see Classify
			t.Errorf("class %s: retriable %v", class, kind.retriable)
		}
		named = append(named, class)
	}
	for _, kind := range steps.Kinds {
		if !slices.Contains(named, string(kind)) {
			t.Errorf("no failure is of the kind %s", kind)
		}
	}
}
