//go:build unix

package runtime

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/internal/programtest"
	"hank/internal/short"
	"hank/recovery"
	"hank/runtime/exitcode"
	"hank/runtime/gc"
	"hank/runtime/internal/testkit"
	"hank/runtime/land"
	"hank/runtime/verdict"
)

func init() {
	testkit.Parts["land"] = func(args []string) error {
		o := land.Options{Branch: "result", Now: time.Now(), Switch: slices.Contains(args, "switch"), Update: slices.Contains(args, "update")}
		if slices.Contains(args, "to-one") {
			o.To = "one"
		}
		_, err := landWith(args[0], o)
		return err
	}
}

func landOn(root, branch string) (*land.Landing, error) {
	return landWith(root, land.Options{Branch: branch, Now: time.Now()})
}

func landWith(root string, o land.Options) (*land.Landing, error) {
	v, err := recovery.Read(root)
	if err != nil {
		return nil, err
	}
	return land.Land(context.Background(), v, o)
}

// ownRepository is one of the user's with something of everything: what is
// staged, what is not, a stash, and a hook that must not run.
func ownRepository(t *testing.T) (s *stage, repo string) {
	t.Helper()
	repo = filepath.Join(t.TempDir(), "repo")
	git(t, "init", "-q", "-b", "main", repo)
	for _, set := range [][2]string{{"user.name", "Ann"}, {"user.email", "a@example.com"}, {"filter.fake.clean", "sed s/^/kept:/"}, {"filter.fake.smudge", "sed s/^kept://"}} {
		git(t, "-C", repo, "config", set[0], set[1])
	}
	put(t, repo, ".gitattributes", "*.big filter=fake\n")
	put(t, repo, "a", "a\n")
	put(t, repo, "b", "b\n")
	git(t, "-C", repo, "add", "-A")
	git(t, "-C", repo, "commit", "-qm", "first")
	put(t, repo, "a", "stashed\n")
	git(t, "-C", repo, "stash", "-q")
	put(t, repo, "staged", "staged\n")
	git(t, "-C", repo, "add", "staged")
	put(t, repo, "b", "not staged\n")
	put(t, repo, ".git/hooks/reference-transaction", "#!/bin/sh\ntouch "+filepath.Join(filepath.Dir(repo), "hooked")+"\n")
	if err := os.Chmod(filepath.Join(repo, ".git/hooks/reference-transaction"), 0o755); err != nil {
		t.Fatal(err)
	}
	s = stageOf(t, `{"hank": [
	  {"id": "one", "name": "One", "model": "shell", "continuationMode": "fresh", "promptText": "echo one >one; echo big >x.big"},
	  {"id": "two", "name": "Two", "model": "shell", "continuationMode": "fresh", "promptText": "echo two >one; rm a"}
	]}`)
	s.opts.Workspace = repo
	s.must(ModeRun, exitcode.Done)
	return s, repo
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.hooksPath=/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// untouched is all of a repository that a landing must leave alone: every byte,
// mode and time but those of packs and of the branch, and of the directories they
// are in.
func untouched(t *testing.T, repo string) map[string]string {
	t.Helper()
	all := everything(t, repo)
	for name := range all {
		if strings.Contains(name, ".git/objects/") || slices.Contains([]string{".git", ".git/objects", ".git/refs/heads", ".git/logs/refs/heads"}, name) || strings.HasSuffix(name, "refs/heads/result") || strings.HasSuffix(name, "refs/heads/result.lock") || strings.HasSuffix(name, "logs/refs/heads/result") {
			delete(all, name)
		}
	}
	return all
}

// Killed at any step, a landing has made its branch whole or not at all, nothing
// else of the person's is touched, and the same landing is done, or finished, by
// the next. The steps are hank's own, and those of git in the repository: killed
// before, within and behind a call that changes something there.
func TestALandingKilledAnywhereIsDoneByTheNext(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	template, repo := ownRepository(t)
	whole, err := landOn(template.root, "whole")
	if err != nil || !whole.Right() {
		t.Fatalf("%+v %v", whole, err)
	}
	want := strings.TrimSpace(git(t, "-C", repo, "rev-parse", "whole^{tree}"))
	git(t, "-C", repo, "branch", "-qD", "whole")
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	wrapper := t.TempDir()
	programtest.Write(t, filepath.Join(wrapper, "git"), killingGit)
	reports := 1
	for _, c := range []struct {
		point  string
		branch bool // it is there
	}{
		{"land.staged", false}, {"land.committed", false}, {"land.published", false}, {"land.announced", false}, {"land.branched", true}, {"land.reported", true},
		{"git update-index before", false}, {"git commit-tree behind", false}, {"git index-pack before", false}, {"git index-pack within", false},
		{"git index-pack behind", false}, {"git update-ref before", false}, {"git update-ref behind", true},
	} {
		before := untouched(t, repo)
		cmd := exec.Command(os.Args[0], "__part", "land", template.root)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "REAL_GIT="+real)
		if call := strings.Fields(c.point); call[0] == "git" {
			cmd.Env = append(cmd.Env, "PATH="+wrapper+":"+os.Getenv("PATH"), "KILL_AT="+call[1], "KILL_WHEN="+call[2])
		} else {
			cmd.Env = append(cmd.Env, "HANK_FAILPOINT="+c.point)
		}
		if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("%s: it was not killed: %v %s", c.point, err, out)
		}
		sameTree(t, c.point, untouched(t, repo), before)
		if there := strings.TrimSpace(git(t, "-C", repo, "branch", "--list", "result")) != ""; there != c.branch {
			t.Errorf("%s: the branch is there: %v", c.point, there)
		}
		git(t, "-C", repo, "fsck", "--strict", "--no-dangling")
		if v := template.view(); !v.Validate().Valid {
			t.Errorf("%s: the execution: %+v", c.point, v.Validate())
		}
		if c.point == "land.reported" {
			reports++
			git(t, "-C", repo, "branch", "-qD", "result")
			before = untouched(t, repo)
		}
		done, err := landOn(template.root, "result")
		if err != nil || !done.Right() || done.CutShort != (c.branch && c.point != "land.reported") {
			t.Fatalf("%s: the next landing: %+v %v", c.point, done, err)
		}
		reports++
		if tree := strings.TrimSpace(git(t, "-C", repo, "rev-parse", "result^{tree}")); tree != want {
			t.Errorf("%s: it landed %s, want %s", c.point, tree, want)
		}
		if n := strings.TrimSpace(git(t, "-C", repo, "rev-list", "--count", "main..result")); n != "2" {
			t.Errorf("%s: there are %s commits", c.point, n)
		}
		sameTree(t, c.point+", landed", untouched(t, repo), before)
		if _, err := landOn(template.root, "result"); verdict.CodeOf(err) != exitcode.Usage {
			t.Errorf("%s: once more: %v", c.point, err)
		}
		if all, _ := filepath.Glob(filepath.Join(template.view().Layout.Reports(), "*")); len(all) != reports {
			t.Errorf("%s: there are the reports %q, want %d", c.point, all, reports)
		}
		git(t, "-C", repo, "branch", "-qD", "result")
	}
	if onDisk(filepath.Dir(repo), "hooked") {
		t.Error("a hook ran")
	}
	list, err := gc.ListGarbage(context.Background(), template.view(), ancient())
	if err != nil || len(list) == 0 || list[0].Kind != gc.Temporary && list[1].Kind != gc.Temporary {
		t.Errorf("what the killed ones left is no garbage: %+v %v", list, err)
	}
}

// Killed at any step, a landing with a switch has written no file of the work tree,
// the next one finishes it, and the way back that is printed then restores what there
// was before the first: HEAD, the index and what git status lists. The same holds for
// an update of the branch that HEAD is on.
func TestASwitchKilledAnywhereIsDoneByTheNext(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	template, repo := ownRepository(t)
	status := func() string {
		return git(t, "-C", repo, "status", "--porcelain=v2", "--branch") + git(t, "-C", repo, "diff", "--cached")
	}
	mine := func() string { return git(t, "-C", repo, "status", "--porcelain") }
	works := func() map[string]string {
		all := everything(t, repo)
		maps.DeleteFunc(all, func(name, _ string) bool { return name == "." || name == ".git" || strings.HasPrefix(name, ".git/") })
		return all
	}
	work := works()
	const want = " M b\nA  staged\n"
	for _, c := range []struct {
		point   string
		update  bool
		options land.Options
	}{
		{point: "land.published"}, {point: "land.announced"}, {point: "land.branched"}, {point: "land.indexed"}, {point: "land.switched"}, {point: "land.reported"},
		{point: "land.announced", update: true}, {point: "land.indexed", update: true}, {point: "land.switched", update: true},
	} {
		args, o := []string{"__part", "land", template.root, "switch"}, land.Options{Branch: "result", Switch: true, Now: time.Now()}
		if c.update {
			if first, err := landWith(template.root, land.Options{Branch: "result", Switch: true, To: "one", Now: time.Now()}); err != nil || !first.Right() {
				t.Fatalf("%+v %v", first, err)
			}
			args, o.Update = append(args, "update"), true
		}
		before := status()
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HANK_FAILPOINT="+c.point)
		if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("%+v: it was not killed: %v %s", c, err, out)
		}
		sameTree(t, c.point, works(), work)
		done, err := landWith(template.root, o)
		if err != nil || !done.Right() || done.Switch == nil {
			t.Fatalf("%+v: the next landing: %+v %v", c, done, err)
		}
		if got := mine(); got != want {
			t.Errorf("%+v: git status lists %s, want %s", c, got, want)
		}
		if n := strings.TrimSpace(git(t, "-C", repo, "rev-list", "--count", "main..HEAD")); n != "2" {
			t.Errorf("%+v: there are %s commits", c, n)
		}
		if out, err := exec.Command("sh", "-c", done.Switch.Back).CombinedOutput(); err != nil {
			t.Fatalf("%+v: %s: %v %s", c, done.Switch.Back, err, out)
		}
		if got := status(); got != before {
			t.Errorf("%+v: after the way back git status lists\n%s\nbefore\n%s", c, got, before)
		}
		sameTree(t, c.point+", undone", works(), work)
		git(t, "-C", repo, "symbolic-ref", "HEAD", "refs/heads/main")
		git(t, "-C", repo, "reset", "-q")
		git(t, "-C", repo, "add", "staged")
		git(t, "-C", repo, "branch", "-qD", "result")
	}
}

// killingGit kills who calls git, at one of its verbs, before it does anything,
// in the middle of what it is given, or when it is done.
const killingGit = `#!/bin/sh
for arg; do
	case "$arg" in update-index|commit-tree|index-pack|update-ref) verb=$arg; break;; esac
done
if [ "$verb" != "$KILL_AT" ]; then exec "$REAL_GIT" "$@"; fi
case $KILL_WHEN in
within) head -c 100 | "$REAL_GIT" "$@" >/dev/null 2>&1;;
behind) "$REAL_GIT" "$@" >/dev/null;;
esac
kill -9 $PPID
`
