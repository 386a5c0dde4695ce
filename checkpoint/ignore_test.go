package checkpoint

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// stockIgnored asks git which of the paths a .gitignore at the root ignores.
func stockIgnored(t interface{ Fatal(...any) }, dir string, paths []string) map[string]bool {
	cmd := exec.Command("git", "-C", dir, "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00"))
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

// ours decides as the scan does: folder by folder, deeper files first.
func ours(files map[string]ignoreRules, path string) bool {
	parts := strings.Split(path, "/")
	for i := range parts {
		at, isDir := strings.Join(parts[:i+1], "/"), i < len(parts)-1
		v := undecided
		for j := i; j >= 0 && v == undecided; j-- {
			dir := strings.Join(parts[:j], "/")
			if rules, ok := files[dir]; ok {
				v = rules.match(at, parts[i], isDir)
			}
		}
		if v == ignored {
			return true
		}
	}
	return false
}

func TestIgnoreRulesEqualStockGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	names := []string{"a", "b", "ab", "foo", "foo.o", "a b", "[x]", "!n", "#c", "x\\y", "a ", "Z9", "-"}
	for _, n := range names { // check-ignore looks at the disk to tell folders
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
	}
	piece := rapid.SampledFrom([]string{"a", "b", "foo", "*", "**", "?", "/", "/", "[ab]", "[!a]", "[a-f]", "[[:alpha:]]", "[]x]", "\\", ".o", " ", "!", "#", "[", "]", "\\*", "x", "[\\]]", "[a-", "[^a]", "-", "[[:digit:]-z]", "[--9]", "\r", "***"})
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pieces"), "")
	})
	rapid.Check(t, func(rt *rapid.T) {
		files := map[string]ignoreRules{}
		for _, at := range []string{"", "a", "a/b"} {
			text := strings.Join(rapid.SliceOfN(line, 0, 4).Draw(rt, "lines of "+at), "\n")
			if err := os.WriteFile(filepath.Join(dir, at, ".gitignore"), []byte(text), 0o644); err != nil {
				rt.Fatal(err)
			}
			prefix := at
			if at != "" {
				prefix += "/"
			}
			files[at] = parseIgnore(prefix, []byte(text))
		}
		want := stockIgnored(rt, dir, paths)
		var wrong []string
		for _, p := range paths {
			if got := ours(files, p); got != want[p] {
				wrong = append(wrong, fmt.Sprintf("%q: %v", p, got))
			}
		}
		if len(wrong) > 0 {
			rt.Fatalf("we disagree with git (ours shown): %v", wrong[:min(5, len(wrong))])
		}
	})
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
