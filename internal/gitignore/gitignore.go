// Package gitignore decides by the patterns of gitignore(5) which paths are left out, with the
// meaning that git's own dir.c gives them. It reads no files: callers find the texts and
// combine those of several directories.
package gitignore

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rules are the patterns of one ignore file.
type Rules struct {
	dir   string // directory that the patterns are relative to, "" or ending in /
	rules []rule
}

type rule struct {
	pattern  string
	negative bool // !pattern
	dirOnly  bool // pattern/
	anywhere bool // no slash in it: matched against the last component
}

// Parse reads the text of an ignore file in the directory dir.
func Parse(dir string, text []byte) Rules {
	out := Rules{dir: dir}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for line := range strings.SplitSeq(string(text), "\n") {
		// As git reads it: a CR is taken off the line, then a NUL ends it.
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "\x00")
		line = trimTrailingSpaces(line)
		if line == "" || line[0] == '#' {
			continue
		}
		var r rule
		r.pattern, r.negative = strings.CutPrefix(line, "!")
		if r.pattern, r.dirOnly = strings.CutSuffix(r.pattern, "/"); r.pattern == "" {
			continue
		}
		r.anywhere = !strings.Contains(r.pattern, "/")
		r.pattern = strings.TrimPrefix(r.pattern, "/")
		out.rules = append(out.rules, r)
	}
	return out
}

var wildcards = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// Pattern is the pattern, for the upper directory, that fits a path and no other. A path
// with a line break has none.
func Pattern(path string) string {
	text := strings.TrimRight(path, " ")
	return "/" + wildcards.Replace(text) + strings.Repeat(`\ `, len(path)-len(text))
}

// Line is the line of a .gitignore in the upper directory that leaves out a path. It is
// the pattern, with a ? for each byte that a line break, or anything else that does not
// print as it is, consists of.
func Line(path string) string {
	var b strings.Builder
	pattern := Pattern(path)
	for i, size := 0, 0; i < len(pattern); i += size {
		var r rune
		if r, size = utf8.DecodeRuneInString(pattern[i:]); unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(pattern[i : i+size])
		} else {
			b.WriteString(strings.Repeat("?", size))
		}
	}
	return b.String()
}

// trimTrailingSpaces takes off spaces that no backslash protects.
func trimTrailingSpaces(line string) string {
	end := len(line)
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			if end > i {
				end = i
			}
			continue
		case '\\':
			i++ // what it protects is no trailing space
		}
		end = len(line)
	}
	return line[:min(end, len(line))]
}

// Verdict is what rules say about a path.
type Verdict int8

const (
	Undecided Verdict = iota // no pattern fits
	Excluded
	Included // by a pattern that begins with !
)

// Match returns what the last rule that fits says about path, which is in the
// directory of the rules.
func (x *Rules) Match(path, base string, isDir bool) Verdict {
	rel := strings.TrimPrefix(path, x.dir)
	for i := len(x.rules) - 1; i >= 0; i-- {
		r := &x.rules[i]
		if r.dirOnly && !isDir {
			continue
		}
		fits := false
		if r.anywhere {
			fits = wildMatch(r.pattern, base, false)
		} else {
			fits = pathMatch(r.pattern, rel)
		}
		if fits {
			if r.negative {
				return Included
			}
			return Excluded
		}
	}
	return Undecided
}

// Excludes reports whether the rules, as those of the upper directory, leave out a path. A
// directory that is left out takes along everything in it.
func (x *Rules) Excludes(path string, isDir bool) bool {
	for at := 0; ; {
		name, _, inside := strings.Cut(path[at:], "/")
		at += len(name)
		if x.Match(path[:at], name, inside || isDir) == Excluded {
			return true
		}
		if !inside {
			return false
		}
		at++
	}
}

// pathMatch matches a pattern with a slash in it. git compares what is
// before the first wildcard by itself, so that the stars of a**/b count as
// standing at a beginning, and fit ab too.
func pathMatch(p, t string) bool {
	literal := strings.IndexAny(p, "*?[\\")
	if literal < 0 {
		return p == t
	}
	rest, ok := strings.CutPrefix(t, p[:literal])
	return ok && wildMatch(p[literal:], rest, true)
}

// wildMatch matches as git's wildmatch.c does. With paths, * and ? stop at a
// slash, and ** between slashes stands for any number of directories.
func wildMatch(p, t string, paths bool) bool {
	m := wildMatcher{p: p, paths: paths}
	return m.match(t, 0)
}

// wildMatcher matches one pattern with one text. What it has found not to fit
// it does not try again: a pattern of many stars, which any agent can write,
// would else take longer than anybody lives.
type wildMatcher struct {
	p      string
	paths  bool
	tries  int
	failed map[[2]int]bool // position in p, bytes left of the text
}

// rememberAfter is how many tries go by before failures are kept: ordinary
// patterns need no memory.
const rememberAfter = 64

// match matches the pattern from position at on; what is before decides
// what a ** means.
func (m *wildMatcher) match(t string, at int) bool {
	key := [2]int{at, len(t)}
	if m.tries++; m.failed[key] {
		return false
	}
	if m.run(t, at) {
		return true
	}
	if m.tries > rememberAfter {
		if m.failed == nil {
			m.failed = map[[2]int]bool{}
		}
		m.failed[key] = true
	}
	return false
}

func (m *wildMatcher) run(t string, at int) bool {
	p := m.p
	for at < len(p) {
		c := p[at]
		if c == '*' {
			return m.star(t, at)
		}
		if t == "" {
			return false
		}
		switch c {
		case '?':
			if m.paths && t[0] == '/' {
				return false
			}
		case '[':
			ok, next := wildClass(p, at, t[0])
			if !ok || m.paths && t[0] == '/' {
				return false
			}
			at = next - 1
		case '\\':
			if at++; at >= len(p) || p[at] != t[0] {
				return false
			}
		default:
			if c != t[0] {
				return false
			}
		}
		at++
		t = t[1:]
	}
	return t == ""
}

// star matches a pattern from a run of stars on.
func (m *wildMatcher) star(t string, at int) bool {
	p, next := m.p, at
	for next < len(p) && p[next] == '*' {
		next++
	}
	slashes := !m.paths // the stars may stand for slashes
	if m.paths && next-at >= 2 && (at == 0 || p[at-1] == '/') && (next == len(p) || p[next] == '/' || strings.HasPrefix(p[next:], `\/`)) {
		// a/**/b fits a/b too.
		if next < len(p) && p[next] == '/' && m.match(t, next+1) {
			return true
		}
		slashes = true
	}
	if next == len(p) {
		return slashes || !strings.Contains(t, "/")
	}
	for i := 0; i <= len(t); i++ {
		if m.match(t[i:], next) {
			return true
		}
		if i < len(t) && t[i] == '/' && !slashes {
			return false
		}
	}
	return false
}

// wildClass matches c with the bracket expression at p[at]; next is after it.
func wildClass(p string, at int, c byte) (ok bool, next int) {
	i := at + 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	found, before, first := false, -1, true
	for ; ; first = false {
		if i >= len(p) {
			return false, len(p)
		}
		b := p[i]
		switch {
		case b == ']' && !first:
			return found != negated, i + 1
		case b == '\\':
			if i++; i >= len(p) {
				return false, len(p)
			}
			b = p[i]
			found = found || b == c
		case b == '-' && before >= 0 && i+1 < len(p) && p[i+1] != ']':
			i++
			if p[i] == '\\' {
				if i++; i >= len(p) {
					return false, len(p)
				}
			}
			found = found || before <= int(c) && c <= p[i]
			i++
			before = -1
			continue
		case b == '[' && i+1 < len(p) && p[i+1] == ':':
			end := strings.IndexByte(p[i+2:], ']')
			if end < 0 {
				return false, len(p)
			}
			name := p[i+2 : i+2+end]
			if strings.HasSuffix(name, ":") {
				in, known := posixClass(strings.TrimSuffix(name, ":"), c)
				if !known {
					return false, len(p)
				}
				found = found || in
				i += end + 3
				before = -1
				continue
			}
			found = found || b == c // not [:name:]: a bracket like any letter
		default:
			found = found || b == c
		}
		before = int(b)
		i++
	}
}

// posixClass reports whether c is in a class such as alpha.
func posixClass(name string, c byte) (in, known bool) {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	graph := 0x21 <= c && c <= 0x7e
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < 0x20 || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lower, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "space":
		return c == ' ' || 0x09 <= c && c <= 0x0d, true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	}
	return false, false
}
