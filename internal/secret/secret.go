// Package secret knows what keys look like, and keeps them out of what is
// written: errors, records, events. It is for text that hank passes on; it
// changes no file of anybody's.
package secret

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Mask is where a secret was.
const Mask = "***"

// shape is one form that secrets have. Where it has groups, only the last one
// is masked.
type shape struct {
	hints []string              // of which a text must have one, so that most texts are not searched
	find  func() *regexp.Regexp // compiled when it is first needed: most processes need none
	is    func(string) bool     // whether what was found is one: words have some of the forms too
	lines bool                  // searched line by line, where the line assigns something: it is slow
}

func of(is func(string) bool, pattern string, hints ...string) shape {
	return shape{hints: hints, find: lazy(pattern), is: is}
}

func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// shapes are in the order in which they are looked for.
var shapes = []shape{
	// Blocks of a private key; of one that was cut, what is left of it.
	of(always, `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-[^-])*(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?`, "PRIVATE KEY"),
	of(always, `[A-Za-z0-9+/=\s]{24,}-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`, "PRIVATE KEY"),
	of(dense, `(?m)(?:^[ \t]*[A-Za-z0-9+/]{60,76}[ \t\r]*\n){2,}(?:^[ \t]*[A-Za-z0-9+/=]+$)?`, "\n"),
	of(dense, `\A\s*[A-Za-z0-9+/]{60,76}\s*\z`, ""), // such a line for itself
	// Anthropic, OpenAI, OpenRouter, DeepSeek …
	of(mixed, `\bsk-[A-Za-z0-9_-]{16,}`, "sk-"),
	// Google: API key, OAuth token and client secret
	of(always, `\bAIza[0-9A-Za-z_-]{30,}`, "AIza"),
	of(always, `\bya29\.[0-9A-Za-z_-]{20,}`, "ya29."),
	of(always, `\bGOCSPX-[0-9A-Za-z_-]{20,}`, "GOCSPX-"),
	// GitHub, GitLab
	of(always, `\bgh[pousr]_[A-Za-z0-9]{20,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
	of(always, `\bgithub_pat_[A-Za-z0-9_]{20,}`, "github_pat_"),
	of(always, `\bglpat-[A-Za-z0-9_-]{20,}`, "glpat-"),
	// AWS: the id of a key, and, by its name, the key
	of(always, `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`, "AKIA", "ASIA", "ABIA", "ACCA"),
	of(always, `(?i)\baws_?(?:secret|session)_?[a-z_]*["']?\s*[:=]\s*["']?([A-Za-z0-9/+=]{30,})`, "aws", "AWS"),
	// Slack, Stripe, npm, PyPI, Hugging Face, xAI, Groq
	of(always, `\bxox[abeoprs]-[A-Za-z0-9-]{10,}`, "xox"),
	of(always, `\bxapp-[A-Za-z0-9-]{10,}`, "xapp-"),
	of(always, `hooks\.slack\.com/services/([A-Za-z0-9/]{20,})`, "hooks.slack.com"),
	of(always, `\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`, "k_live_", "k_test_"),
	of(always, `\bnpm_[A-Za-z0-9]{30,}`, "npm_"),
	of(always, `\bpypi-[A-Za-z0-9_-]{30,}`, "pypi-"),
	of(always, `\bhf_[A-Za-z0-9]{30,}`, "hf_"),
	of(always, `\bxai-[A-Za-z0-9]{30,}`, "xai-"),
	of(always, `\bgsk_[A-Za-z0-9]{30,}`, "gsk_"),
	// A JSON web token, a header, a password in a URL
	of(always, `\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?`, "eyJ"),
	of(mixed, `(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{16,})`, "earer ", "asic ", "EARER ", "ASIC "),
	of(always, `[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@"']*:([^/\s@"']+)@`, "://"),
	// What its name calls a secret: API_KEY=…, "password": "…"
	of(mixed, `(?i)(?:api[_-]?key|access[_-]?key|auth[_-]?token|[_-]token|secret|password|passwd)["']?\s*[:=]\s*["']?([^\s"',;&]{8,})`,
		"key", "KEY", "Key", "oken", "OKEN", "ecret", "ECRET", "assw", "ASSW").byLine(),
}

func (s shape) byLine() shape {
	s.lines = true
	return s
}

// blocks is how many of the shapes go over several lines.
const blocks = 3

// Line is Text for one line of an output: it leaves a block of lines to Text,
// which sees all of it.
func Line(text string) string { return maskAll(shapes[blocks:], text) }

// Text returns a text without the secrets in it that have a known shape.
func Text(text string) string {
	if len(text) < least {
		return text
	}
	return maskAll(shapes, text)
}

// least is how many bytes a text has at least in which there is a secret.
const least = len("a://:b@")

func maskAll(shapes []shape, text string) string {
	for _, s := range shapes {
		switch {
		case !s.hinted(text):
		case s.lines:
			text = s.maskLines(text)
		default:
			text = s.mask(text)
		}
	}
	return text
}

func (s shape) hinted(text string) bool {
	return slices.ContainsFunc(s.hints, func(hint string) bool { return strings.Contains(text, hint) })
}

func (s shape) maskLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.ContainsAny(line, ":=") && s.hinted(line) {
			line = s.mask(line)
		}
		out.WriteString(line)
	}
	return out.String()
}

func (s shape) mask(text string) string {
	found := s.find().FindAllStringSubmatchIndex(text, -1)
	for _, at := range slices.Backward(found) {
		from, to := at[len(at)-2], at[len(at)-1]
		if word := text[from:to]; !s.is(word) || word == Mask {
			continue
		}
		text = text[:from] + Mask + text[to:]
	}
	return text
}

func always(string) bool { return true }

// dense reports whether a word looks as if base64 had made it of random bytes:
// capitals, small letters, and digits all over. Digests in hexadecimal have no
// capitals, paths have their digits together.
func dense(word string) bool {
	groups, inside := 0, false
	for _, c := range []byte(word) {
		digit := '0' <= c && c <= '9'
		if digit && !inside {
			groups++
		}
		inside = digit
	}
	return groups >= 4 && strings.ToLower(word) != word && strings.ToUpper(word) != word
}

// mixed reports whether a word has letters and digits, as keys have.
func mixed(word string) bool {
	return strings.ContainsAny(word, "0123456789") && strings.ContainsFunc(word, func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' })
}

// Names reports whether the name of a flag or variable says that its value is a
// secret.
func Names(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"key", "token", "secret", "passw", "credential", "auth"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// Values are secrets that are known by what they are, whatever their shape.
type Values struct{ values []string }

// shortest is how long a value must be to be looked for: shorter ones are words.
const shortest = 8

// Add takes the values of an environment (KEY=value) whose names say that they
// are secrets. Paths are none, nor are plain words and numbers. Of a value of
// several lines each line is one too: an output is masked line by line.
func (v *Values) Add(environ []string) {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !Names(name) {
			continue
		}
		v.add(value)
		if !strings.Contains(strings.TrimSpace(value), "\n") {
			continue
		}
		for line := range strings.Lines(value) {
			line = strings.TrimSpace(line)
			if armour().MatchString(line) {
				continue
			}
			v.add(line)
			if m := member().FindStringSubmatch(line); m != nil && !strings.Contains(m[1], "://") {
				v.add(m[1])
			}
		}
	}
	slices.SortFunc(v.values, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
}

var (
	armour = lazy(`^-----(?:BEGIN|END) [A-Z0-9 ]+-----$`)   // the same in every key
	member = lazy(`^"?[\w.-]+"?\s*[:=]\s*"?([^"\s]+)"?,?$`) // what a line of JSON, YAML or assignments gives a name
)

// add takes a value, unless it is a path, a plain word or number, or there.
func (v *Values) add(value string) {
	if len(value) < shortest || strings.HasPrefix(value, "/") || !mixed(value) && len(value) < 2*shortest || slices.Contains(v.values, value) {
		return
	}
	v.values = append(v.values, value)
	if quoted, err := jsontext.AppendQuote(nil, value); err == nil && len(quoted) != len(value)+2 { // as it is in a line of JSON
		v.values = append(v.values, string(quoted[1:len(quoted)-1]))
	}
}

// Known returns a line of an output without the values. It is for lines that are read, of which
// parts are kept: a value that is cut is not known any more, and a line of JSON stays one.
func (v *Values) Known(line []byte) []byte {
	for _, value := range v.values {
		if bytes.Contains(line, []byte(value)) {
			line = bytes.ReplaceAll(line, []byte(value), []byte(Mask))
		}
	}
	return line
}

// Text is Text, and masks the values too.
func (v *Values) Text(text string) string {
	for _, value := range v.values {
		if strings.Contains(text, value) {
			text = strings.ReplaceAll(text, value, Mask)
		}
	}
	return Text(text)
}

// JSON masks every string in a JSON text, names of members aside. A text that
// is not JSON is masked as a whole.
func JSON(text []byte, mask func(string) string) []byte {
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	to := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	changed := false
	for {
		at, n := in.StackIndex(in.StackDepth())
		name := at == '{' && n%2 == 0 // the next string is a name
		token, err := in.ReadToken()
		if err != nil {
			break
		}
		if token.Kind() == '"' && !name {
			if was := token.String(); mask(was) != was {
				token, changed = jsontext.String(mask(was)), true
			}
		}
		if to.WriteToken(token) != nil {
			return []byte(mask(string(text)))
		}
	}
	switch {
	case in.StackDepth() > 0:
		return []byte(mask(string(text)))
	case !changed:
		return text
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// Say tells the user a line without the values that are masked; nil is nobody.
func Say(say func(line string), line string) {
	if say != nil {
		say(Text(line))
	}
}
