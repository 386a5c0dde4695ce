package usergit

import (
	"os/exec"
	"strings"
	"testing"
)

// A branch that somebody has made in the meantime stays where it is.
func TestABranchThatIsThereIsNotMoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Ann", "-c", "user.email=a@example.com", "-c", "core.hooksPath=/dev/null"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "first")
	first := git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "second")
	second := git("rev-parse", "HEAD")
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Branch(t.Context(), "work", first, "test"); err != nil {
		t.Fatal(err)
	}
	if err := r.Branch(t.Context(), "work", second, "test"); err == nil {
		t.Error("a branch that is there was made once more")
	}
	if at := git("rev-parse", "refs/heads/work"); at != first {
		t.Errorf("the branch is at %s, not %s", at, first)
	}
}
