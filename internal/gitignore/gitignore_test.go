package gitignore

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// stockIgnored asks git which of the paths a .gitignore at the root ignores.
func stockIgnored(t interface{ Fatal(...any) }, dir string, paths []string) map[string]bool {
	cmd := exec.Command("git", "-C", dir, "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(strings.Join(paths, "\x00")+"\x00", "/\x00", "\x00"))
	out, err := cmd.Output()
	if ee, ok := err.(*exec.ExitError); err != nil && (!ok || ee.ExitCode() != 1) {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, p := range bytes.Split(out, []byte{0}) {
		found[string(p)] = true
	}
	delete(found, "")
	return found
}

// ours decides as the scan does: directory by directory, deeper files first, then
// info/exclude. The path of a directory ends in a slash.
func ours(files map[string]Rules, exclude Rules, path string) bool {
	path, folder := strings.CutSuffix(path, "/")
	parts := strings.Split(path, "/")
	for i := range parts {
		at, isDir := strings.Join(parts[:i+1], "/"), i < len(parts)-1 || folder
		v := Undecided
		for j := i; j >= 0 && v == Undecided; j-- {
			dir := strings.Join(parts[:j], "/")
			if rules, ok := files[dir]; ok {
				v = rules.Match(at, parts[i], isDir)
			}
		}
		if v == Undecided {
			v = exclude.Match(at, parts[i], isDir)
		}
		if v == Excluded {
			return true
		}
	}
	return false
}

// The last rule that fits decides: of one file, and of the files on the way down.
func TestTheLastRuleThatFitsDecides(t *testing.T) {
	t.Parallel()
	rules := Parse("", []byte("*.o\n!keep.o\nkeep.o/\n!/build\n/build\n"))
	for path, want := range map[string]Verdict{"a.o": Excluded, "keep.o": Included, "build": Excluded, "a.c": Undecided} {
		if got := rules.Match(path, path, false); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if got := rules.Match("keep.o", "keep.o", true); got != Excluded {
		t.Errorf("the folder keep.o: %v", got)
	}
}

// What is in a directory that is left out is left out, whatever comes after.
func TestADirectoryTakesAlongWhatIsInIt(t *testing.T) {
	t.Parallel()
	rules := Parse("", []byte("dist/\n!dist/keep\n/a/b\n*.log\n"))
	for path, want := range map[string]bool{"dist": false, "dist/keep": true, "sub/dist/x": true, "a/b/c": true, "x/a/b": false, "x/y.log": true, "a": false} {
		if got := rules.Excludes(path, false); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if !rules.Excludes("x/dist", true) {
		t.Error("a pattern for directories does not leave out a directory")
	}
}

func TestIgnoreRulesEqualStockGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	names := []string{"a", "b", "ab", "foo", "foo.o", "a b", "[x]", "!n", "#c", "x\\y", "a ", "Z9", "-", "FOO", "\xff", "\u00e9", "*", "a\r", "\t", strings.Repeat("n", 255)}
	for _, n := range names { // check-ignore looks at the disk to tell directories
		if err := os.MkdirAll(filepath.Join(dir, n, "b"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, m := range names {
			if m != "b" {
				os.WriteFile(filepath.Join(dir, n, m), nil, 0o644)
				os.WriteFile(filepath.Join(dir, n, "b", m), nil, 0o644)
			}
		}
	}
	var paths []string
	for _, n := range names {
		for _, m := range names {
			if m != "b" {
				paths = append(paths, n+"/"+m, n+"/b/"+m)
			}
		}
		paths = append(paths, n+"/", n+"/b/")
	}
	piece := rapid.SampledFrom([]string{"a", "b", "foo", "*", "**", "?", "/", "/", "[ab]", "[!a]", "[a-f]", "[[:alpha:]]", "[]x]", "\\", ".o", " ", "!", "#", "[", "]", "\\*", "x", "[\\]]", "[a-", "[^a]", "-", "[[:digit:]-z]", "[--9]", "\r", "***", "\t", "\xff", "\u00e9", "\xef\xbb\xbf", "\x00", "\\ ", "  ", "/**/", "FOO", "n", strings.Repeat("n", 255), strings.Repeat("x", 5000), "**/"})
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pieces"), "")
	})
	text := func(rt *rapid.T, of string) string {
		end := rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(rt, "end of lines of "+of)
		start := rapid.SampledFrom([]string{"", "", "", "\xef\xbb\xbf"}).Draw(rt, "start of "+of)
		return start + strings.Join(rapid.SliceOfN(line, 0, 4).Draw(rt, "lines of "+of), end)
	}
	rapid.Check(t, func(rt *rapid.T) {
		excludes := text(rt, "info/exclude")
		if err := os.WriteFile(filepath.Join(dir, ".git/info/exclude"), []byte(excludes), 0o644); err != nil {
			rt.Fatal(err)
		}
		files := map[string]Rules{}
		for _, at := range []string{"", "a", "a/b", "\xff"} {
			text := text(rt, at+"/.gitignore")
			if err := os.WriteFile(filepath.Join(dir, at, ".gitignore"), []byte(text), 0o644); err != nil {
				rt.Fatal(err)
			}
			prefix := at
			if at != "" {
				prefix += "/"
			}
			files[at] = Parse(prefix, []byte(text))
		}
		exclude := Parse("", []byte(excludes))
		want := stockIgnored(rt, dir, paths)
		var wrong []string
		for _, p := range paths {
			if got := ours(files, exclude, p); got != want[strings.TrimSuffix(p, "/")] {
				wrong = append(wrong, fmt.Sprintf("%q: %v", p, got))
			}
		}
		if len(wrong) > 0 {
			rt.Fatalf("we disagree with git (ours shown): %v", wrong[:min(5, len(wrong))])
		}
	})
}

// Seed 77 has found it: git takes the CR off the line, not off what a NUL
// leaves of it.
func TestANULBehindACREndsThePatternAfterTheCR(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a\r\x00x\n": "a\r", "a\x00\r\n": "a", "a\r\n": "a"} {
		if rules := Parse("", []byte(text)).rules; len(rules) != 1 || rules[0].pattern != want {
			t.Errorf("%q is read as %+v", text, rules)
		}
	}
}

func TestAHostilePatternDoesNotHoldUpTheScan(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("a", 255)
	for _, p := range []string{strings.Repeat("*a", 100) + "b", strings.Repeat("**/", 40) + "b", strings.Repeat("**/a", 40) + "/b", strings.Repeat("[a]*", 60) + "!"} {
		if wildMatch(p, name, false) || wildMatch(p, strings.Repeat("a/", 100), true) {
			t.Errorf("%q fits", p)
		}
	}
}

// The pattern of a path leaves out that path and no other, by git and by hank.
func TestThePatternOfAPathFitsItAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	paths := []string{".env", "data [old]/.env", "*/.env", "?", "**", "#a", "!a", "-a", "a ", "a  ", "a b", " a", "a /b ", `a\`, `a\ `, `\[a]`, "a/b/c", "\t", "a\t", "\xff", "\u00e9", "'$HOME'", "[!a]", "[[:alpha:]]", "a\rb"}
	for _, p := range paths {
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(Pattern(p)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		rules, git := Parse("", []byte(Pattern(p))), stockIgnored(t, dir, paths)
		for _, q := range paths {
			within := p == q || strings.HasPrefix(q, p+"/")
			if rules.Excludes(q, false) != within || git[q] != within {
				t.Errorf("the pattern %q of %q and the path %q: git %v, hank %v", Pattern(p), p, q, git[q], rules.Excludes(q, false))
			}
		}
	}
	// A line is printed, and copied from there.
	for _, p := range []string{"a\nb", "a\r", "a [b]\n", "n\xffl/.env", "\xe2\x82/.env", "a\xff ", "\x1b[31ma", "a\tb", "\u202ea", "a\u200d\u00a0b", "\ufffd"} {
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(Line(p)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		rules, git := Parse("", []byte(Line(p))), stockIgnored(t, dir, []string{p, "other"})
		if !rules.Excludes(p, false) || !git[p] || git["other"] || !utf8.ValidString(Line(p)) || strings.ContainsFunc(Line(p), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("the line of %q is %q: git %v, hank %v", p, Line(p), git[p], rules.Excludes(p, false))
		}
	}
}
