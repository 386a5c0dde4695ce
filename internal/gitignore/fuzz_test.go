package gitignore

import (
	"path"
	"reflect"
	"strings"
	"testing"
)

// FuzzIgnore: reading rules and matching them ends for any text, and the same
// rules, written out again line by line, say the same.
func FuzzIgnore(f *testing.F) {
	for _, s := range []string{"*.o\n!a.o\n/b/\n", "**/a\\ \r\n[[:alpha:]]x", strings.Repeat("*a", 50) + "b", "\xef\xbb\xbf#x\n\\#y", "a\x00b\n[", "**/" + strings.Repeat("a/**/", 20) + "b"} {
		f.Add([]byte(s), "a/b/a.o")
	}
	f.Fuzz(func(t *testing.T, text []byte, file string) {
		if len(text) > 5000 || len(file) > 500 {
			return
		}
		rules := Parse("", text)
		var again []byte
		for _, r := range rules.rules {
			line := r.pattern
			if !r.anywhere && !strings.Contains(line, "/") {
				line = "/" + line
			}
			if r.negative {
				line = "!" + line
			}
			if r.dirOnly {
				line += "/"
			}
			again = append(append(again, line...), '\n')
		}
		for _, folder := range []bool{true, false} {
			a := rules.Match(file, path.Base(file), folder)
			back := Parse("", again)
			if b := back.Match(file, path.Base(file), folder); len(back.rules) == len(rules.rules) && a != b && reflect.DeepEqual(back, rules) {
				t.Fatalf("%q: %v, and written again %v", file, a, b)
			}
		}
	})
}
