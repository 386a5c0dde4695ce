package variables

import (
	"slices"
	"strings"

	"hank/internal/lazyregexp"
	"hank/internal/typo"
	"hank/plan/frontmatter"
)

var (
	like = lazyregexp.New(`<%[ \t]*([A-Za-z][A-Za-z0-9_]*)[ \t]*%>`)
	form = lazyregexp.New(`<%([A-Z][A-Z0-9_]*)%>`)
)

// Names are the placeholders of a hank: those that every hank has, and its own. They are
// collected once for the whole hank, as each of its texts is compared with them.
type Names struct {
	list        []string
	environment map[string]string // the variable with the same value
	values      map[string]string // of those that the hank declares
}

// NamesOf collects them.
func NamesOf(declared map[string]string) *Names {
	n := &Names{environment: make(map[string]string, len(declared)), values: make(map[string]string, len(declared))}
	for _, v := range all(Facts{Declared: declared}) {
		for _, name := range v.Placeholders {
			if n.environment[name] == "" { // else it is one that every hank has
				n.environment[name] = v.Environment
				if value, is := declared[name]; is {
					n.values[name] = inEnvironment(value)
				}
			}
			n.list = append(n.list, name)
		}
	}
	return n
}

// Unknown reports what is written like a placeholder and is none, so that it would reach
// the agent as text: in capitals with another name, or a known name with spaces or small letters.
// Anything else between <% and %> may be of the prompt's subject. Comments of agents' prompts do not count.
func (n *Names) Unknown(text string, script bool, report func(offset int, message, hint string)) {
	var comments [][]int
	found := like.FindAllStringSubmatchIndex(text, -1)
	if !script && len(found) > 0 {
		comments = frontmatter.Comments(text)
	}
	for _, m := range found {
		written, name := text[m[0]:m[1]], text[m[2]:m[3]]
		exact := written == "<%"+name+"%>" && strings.ToUpper(name) == name
		if exact && n.environment[name] != "" {
			continue
		}
		near := typo.Nearest(name, n.list)
		switch {
		case !exact && (near == "" || !typo.Same(near, name)):
			continue
		case slices.ContainsFunc(comments, func(c []int) bool { return c[0] <= m[0] && m[1] <= c[1] }):
			continue
		}
		hint := "the placeholders are <%" + strings.Join(n.list, "%>, <%") + "%>"
		if near != "" {
			hint = "did you mean <%" + near + "%>? " + hint
		}
		report(m[0], written+" is not a placeholder: it would be passed on as text", hint)
	}
}

// First is the first placeholder that a text has, as it is written there, and the environment
// variable with the same value; empty: it has none.
func (n *Names) First(text string) (placeholder, environment string) {
	for _, m := range form.FindAllStringSubmatchIndex(text, -1) {
		if environment := n.environment[text[m[2]:m[3]]]; environment != "" {
			return text[m[0]:m[1]], environment
		}
	}
	return "", ""
}

// Blank is a text with the values of declared variables, and a word in place of each other
// placeholder.
func (n *Names) Blank(text, word string) string {
	return replace(text, func(name string) (string, bool) {
		if value, is := n.values[name]; is {
			return value, true
		}
		return word, n.environment[name] != ""
	})
}

// Replacer replaces placeholders by what they stand for. It costs the same however many
// variables a hank declares: one is made for each attempt, and for each codon of a plan.
type Replacer struct{ known, declared map[string]string }

// NewReplacer replaces them by the values of facts.
func NewReplacer(f Facts) Replacer {
	r := Replacer{map[string]string{}, f.Declared}
	f.Declared = nil
	for _, v := range all(f) {
		for _, name := range v.Placeholders {
			r.known[name] = v.Value
		}
	}
	return r
}

// Replace is the text with the values.
func (r Replacer) Replace(text string) string { return replace(text, r.value) }

func (r Replacer) value(name string) (string, bool) {
	if value, known := r.known[name]; known {
		return value, true
	}
	value, known := r.declared[name]
	return inEnvironment(value), known
}

func replace(text string, value func(name string) (string, bool)) string {
	var b strings.Builder
	done := 0
	for _, m := range form.FindAllStringSubmatchIndex(text, -1) {
		if v, known := value(text[m[2]:m[3]]); known {
			b.WriteString(text[done:m[0]])
			b.WriteString(v)
			done = m[1]
		}
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// Measured is a text of which is known how long it is when its placeholders are replaced.
type Measured struct {
	bytes   int // with the placeholders as they are written
	escapes int // of it: see escapesIn
	named   map[string]int
}

// Measure finds the placeholders of a text.
func Measure(text string) Measured {
	m := Measured{bytes: len(text), escapes: escapesIn(text)}
	if !strings.Contains(text, "<%") { // most have none
		return m
	}
	m.named = map[string]int{}
	for _, at := range form.FindAllStringSubmatchIndex(text, -1) {
		m.named[text[at[2]:at[3]]]++
	}
	return m
}

// escapesIn is how many bytes a text has more inside of a string of JSON or TOML.
func escapesIn(text string) (more int) {
	for i := range len(text) {
		switch c := text[i]; {
		case strings.IndexByte("\"\\\b\f\n\r\t", c) >= 0:
			more++
		case c < ' ' || c == '\x7f':
			more += len(`u0000`)
		}
	}
	if strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029") { // three bytes each
		more += 3 * (strings.Count(text, "\u2028") + strings.Count(text, "\u2029"))
	}
	return more
}

// Size is the length of what Replace makes of a text, and how many bytes it has more inside of a
// string of JSON or TOML.
func (r Replacer) Size(m Measured) (size, escapes int) {
	size, escapes = m.bytes, m.escapes
	for name, times := range m.named {
		if value, known := r.value(name); known {
			size += times * (len(value) - len("<%"+name+"%>"))
			escapes += times * escapesIn(value)
		}
	}
	return size, escapes
}

// Longer is how long texts are together with the values of facts, if that is more than a limit; 0:
// it is not. Values that are not known count as empty. quoted: they are inside of a string of JSON
// or TOML.
func Longer(texts []Measured, f Facts, limit int, quoted bool) int {
	most, longest, total := 0, max(len(f.Codon), longestOwn), 0
	for _, value := range f.Declared {
		longest = max(longest, len(value))
	}
	if quoted {
		longest *= len(`\u0000`)
	}
	for _, m := range texts {
		most += m.bytes
		if quoted {
			most += m.escapes
		}
		for _, times := range m.named {
			most += times * longest
		}
	}
	if most <= limit { // whatever is named
		return 0
	}
	replace := NewReplacer(f)
	for _, m := range texts {
		size, escapes := replace.Size(m)
		if total += size; quoted {
			total += escapes
		}
	}
	if total <= limit {
		return 0
	}
	return total
}

// longestOwn is more than the length of each value of facts that are not known.
const longestOwn = 32
