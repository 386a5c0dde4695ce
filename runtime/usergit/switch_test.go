package usergit

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hank/internal/short"
)

// userRepo is a repository in a random state, with what a model says of it.
type userRepo struct {
	t    *testing.T
	dir  string
	draw *rand.Rand
	old  map[string]string // what HEAD has: content by path
	new  map[string]string // what the branch has
}

func (u *userRepo) git(args ...string) string {
	u.t.Helper()
	out, err := u.tryGit("", args...)
	if err != nil {
		u.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimRight(out, "\n")
}

func (u *userRepo) tryGit(index string, args ...string) (string, error) {
	return u.in(index, exec.Command("git", append([]string{"-c", "core.hooksPath=/dev/null"}, args...)...))
}

func (u *userRepo) in(index string, cmd *exec.Cmd) (string, error) {
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=a@example.com")
	if index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+index)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (u *userRepo) write(name, text string) {
	u.t.Helper()
	file := filepath.Join(u.dir, name)
	for at := filepath.Dir(file); at != u.dir; at = filepath.Dir(at) {
		if fi, err := os.Lstat(at); err == nil && !fi.IsDir() {
			_ = os.Remove(at) // MkdirAll reports it
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		u.t.Fatal(err)
	}
	_ = os.RemoveAll(file) // WriteFile reports it
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		u.t.Fatal(err)
	}
}

func (u *userRepo) remove(name string) { _ = os.RemoveAll(filepath.Join(u.dir, name)) }

// work is every file of the work tree, with digest and time.
func (u *userRepo) work() (content, stamps map[string]string) {
	u.t.Helper()
	content, stamps = map[string]string{}, map[string]string{}
	err := filepath.WalkDir(u.dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(u.dir, path)
		if err == nil && name == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fi, _ := os.Lstat(path)
		content[name], stamps[name] = string(text), fmt.Sprint(fi.ModTime().UnixNano(), fi.Mode(), len(text))
		return err
	})
	if err != nil {
		u.t.Fatal(err)
	}
	return content, stamps
}

func blob(text string) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte("blob "+strconv.Itoa(len(text))+"\x00"+text)))
}

// names of files: some are directories of others.
var names = []string{"a", "b", "a/x", "b/x", "e/f", "e/g", "out.log", "k"}

// commit makes a commit of files without the work tree.
func (u *userRepo) commit(files map[string]string, parent string) string {
	u.t.Helper()
	index := filepath.Join(u.t.TempDir(), "index")
	for name, text := range files {
		tmp := filepath.Join(u.t.TempDir(), "blob")
		if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
			u.t.Fatal(err)
		}
		id := u.git("hash-object", "-w", tmp)
		if out, err := u.tryGit(index, "update-index", "--add", "--cacheinfo", "100644,"+id+","+name); err != nil {
			u.t.Fatal(out)
		}
	}
	if len(files) == 0 {
		u.t.Fatal("no file")
	}
	tree, err := u.tryGit(index, "write-tree")
	if err != nil {
		u.t.Fatal(tree)
	}
	args := []string{"commit-tree", "-m", "x", strings.TrimSpace(tree)}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	return u.git(args...)
}

// below reports whether one path is a directory of the other.
func below(a, b string) bool { return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/") }

// put gives a set of files one more, unless it is a directory in it or has one of
// them as a directory.
func put(files map[string]string, name, text string) {
	for have := range files {
		if below(have, name) {
			return
		}
	}
	files[name] = text
}

// TestSwitchingMovesHeadAndIndexAlone draws repositories and states of their
// indexes and puts HEAD on a branch that changes some files. What git status lists
// then is what a model of the index says; no file of the work tree is written; and
// the printed way back restores the index, HEAD and what git status lists. What
// would lose something staged is refused, and nothing is touched. HANK_LONG draws
// more; HANK_SEED draws others.
func TestSwitchingMovesHeadAndIndexAlone(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	rounds, seed := 12, uint64(1)
	if os.Getenv("HANK_LONG") != "" {
		rounds = 400
	}
	if n, err := strconv.ParseUint(os.Getenv("HANK_SEED"), 10, 64); err == nil {
		seed = n
	}
	refused := 0
	for i := range rounds {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if !switchOnce(t, rand.New(rand.NewPCG(seed, uint64(i)))) {
				refused++
			}
		})
	}
	if refused == 0 || refused == rounds {
		t.Errorf("%d of %d were refused: the test draws no mixture", refused, rounds)
	}
}

func switchOnce(t *testing.T, draw *rand.Rand) bool {
	u := &userRepo{t: t, dir: t.TempDir(), draw: draw, old: map[string]string{}, new: map[string]string{}}
	from := u.begin()
	u.new = maps.Clone(u.old)
	for range 1 + draw.IntN(4) { // what the run changes
		name := names[draw.IntN(len(names))]
		delete(u.new, name)
		if draw.IntN(3) > 0 {
			put(u.new, name, "run "+strconv.Itoa(draw.IntN(2)))
		}
	}
	u.new["always"] = "run"
	for name := range u.old {
		if _, kept := u.new[name]; !kept {
			u.remove(name)
		}
	}
	for name, text := range u.new {
		if u.old[name] != text {
			u.write(name, text)
		}
	}
	u.disturb()
	branched := u.commit(u.new, from.Commit)
	u.git("branch", "hank/work", branched)

	// The model.
	index, flags := u.index()
	want, refuse := map[string]string{}, false
	for name, id := range index {
		want[name] = id
	}
	for _, name := range slices.Sorted(maps.Keys(union(u.old, u.new))) {
		was, will := id(u.old, name), id(u.new, name)
		refuse = refuse || strings.Contains(flags[name], "i")
		if was == will {
			continue
		}
		if is := index[name]; flags[name] != "" || is != was && is != will {
			refuse = true
		} else if delete(want, name); will != "" {
			want[name] = will
		}
	}
	for a := range want {
		for b := range want {
			refuse = refuse || below(a, b)
		}
	}
	statusBefore, head, stagedBefore := u.git("status", "--porcelain=v2", "-uall"), u.head(), u.git("diff", "--cached", "--no-renames")
	bytesBefore, _ := os.ReadFile(u.git("rev-parse", "--git-path", "index"))
	_, stamps := u.work()

	done, err := u.move(from, branched)
	_, after := u.work()
	if !maps.Equal(stamps, after) {
		t.Errorf("files of the work tree were written:\n%v\n%v", stamps, after)
	}
	if err != nil {
		var blocked *BlockedError
		if !errors.As(err, &blocked) || !refuse {
			t.Fatalf("refused: %v; the model: refuse %v, index %v, flags %v, HEAD %v, branch %v", err, refuse, index, flags, u.old, u.new)
		}
		if now, _ := os.ReadFile(u.git("rev-parse", "--git-path", "index")); string(now) != string(bytesBefore) || u.head() != head {
			t.Error("it was refused, and index or HEAD were touched")
		}
		return false
	}
	if refuse {
		t.Fatalf("not refused: index %v, flags %v, HEAD %v, branch %v", index, flags, u.old, u.new)
	}
	if got := u.head(); got != "refs/heads/hank/work "+branched {
		t.Errorf("HEAD is at %s", got)
	}
	work, _ := u.work()
	if got, model := u.status(), u.model(u.new, want, flags, work); got != model {
		t.Errorf("git status lists\n%s\nthe model\n%s\nof the index %v", got, model, want)
	}
	if now, _ := u.index(); !maps.Equal(now, want) {
		t.Errorf("the index has %v, want %v", now, want)
	}

	// And back, once or twice.
	back := done.Back("")
	for range 1 + draw.IntN(2) {
		if out, err := u.in("", exec.Command("sh", "-c", back)); err != nil {
			t.Fatalf("%s: %v %s", back, err, out)
		}
	}
	_, after = u.work()
	now, nowFlags := u.index()
	if !maps.Equal(stamps, after) || u.head() != head || !maps.Equal(now, index) || !maps.Equal(nowFlags, flags) {
		t.Errorf("after %s: HEAD %s, was %s; index %v %v, was %v %v", back, u.head(), head, now, nowFlags, index, flags)
	}
	if got := u.git("status", "--porcelain=v2", "-uall"); got != statusBefore {
		t.Errorf("after the way back git status lists\n%s\nbefore\n%s", got, statusBefore)
	}
	if got := u.git("diff", "--cached", "--no-renames"); got != stagedBefore {
		t.Errorf("after the way back is staged\n%s\nbefore\n%s", got, stagedBefore)
	}
	return true
}

// begin makes the repository: ordinary, of one more work tree, with a detached HEAD,
// without a commit, or with a split index.
func (u *userRepo) begin() Position {
	u.git("init", "-q", "-b", "main")
	kind := u.draw.IntN(6)
	if kind == 0 {
		u.old = map[string]string{}
		u.write(".git/info/exclude", "*.log\n")
		return Position{Ref: "refs/heads/main"}
	}
	u.old["always"] = "was"
	for _, name := range names {
		if u.draw.IntN(2) == 0 {
			put(u.old, name, "was")
		}
	}
	first := u.commit(u.old, "")
	u.git("update-ref", "refs/heads/main", first)
	if kind == 1 {
		other := filepath.Join(u.t.TempDir(), "other")
		u.git("worktree", "add", "-q", "-b", "second", other, "main")
		u.dir = other
		return Position{"refs/heads/second", first}
	}
	u.write(".git/info/exclude", "*.log\n")
	u.git("reset", "-q", "--hard")
	switch kind {
	case 2:
		u.git("checkout", "-q", "--detach")
		return Position{"", first}
	case 3:
		u.git("update-index", "--split-index")
	case 4:
		u.git("config", "core.untrackedCache", "true")
		u.git("config", "core.splitIndex", "true")
		u.git("config", "index.version", "4")
	}
	return Position{"refs/heads/main", first}
}

// disturb makes changes of the user's: staged, not staged, both, untracked, marked.
func (u *userRepo) disturb() {
	for range u.draw.IntN(8) {
		name := names[u.draw.IntN(len(names))]
		text := []string{"was", "run 0", "run 1", "mine"}[u.draw.IntN(4)]
		switch u.draw.IntN(11) {
		case 0, 1:
			u.write(name, text)
			_, _ = u.tryGit("", "add", "-f", "--", name)
		case 2:
			u.write(name, text)
		case 3:
			u.write(name, text)
			_, _ = u.tryGit("", "add", "-f", "--", name)
			u.write(name, "later")
		case 4:
			_, _ = u.tryGit("", "rm", "-q", "-r", "--cached", "--", name)
		case 5:
			u.remove(name)
		case 6:
			u.write(name, text)
			_, _ = u.tryGit("", "add", "-f", "-N", "--", name)
		case 7:
			_, _ = u.tryGit("", "update-index", "--assume-unchanged", "--", name)
		case 9, 10: // as the run left it
			_, _ = u.tryGit("", "add", "-f", "--", "always")
		case 8:
			_, _ = u.tryGit("", "update-index", "--skip-worktree", "--", name)
		}
	}
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// id is the digest of a file in a set; empty if it is not there.
func id(files map[string]string, name string) string {
	if text, ok := files[name]; ok {
		return blob(text)
	}
	return ""
}

// index is what the index has, and how it marks it. What is only intended to be
// added is marked i, and has the digest of nothing.
func (u *userRepo) index() (ids, flags map[string]string) {
	ids, flags = map[string]string{}, map[string]string{}
	for line := range strings.SplitSeq(u.git("ls-files", "-v", "--stage"), "\n") {
		if f := strings.Fields(line); len(f) == 5 {
			if ids[f[4]] = f[2]; f[0] != "H" {
				flags[f[4]] = f[0]
			}
		}
	}
	name := ""
	for line := range strings.SplitSeq(u.git("ls-files", "--debug"), "\n") {
		if !strings.HasPrefix(line, " ") {
			name = line
		} else if _, hex, ok := strings.Cut(line, "flags: "); ok {
			if n, err := strconv.ParseUint(hex, 16, 64); err == nil && n&(1<<29) != 0 {
				flags[name] += "i"
			}
		}
	}
	return ids, flags
}

func (u *userRepo) head() string {
	ref, _ := u.tryGit("", "symbolic-ref", "-q", "HEAD")
	at, _ := u.tryGit("", "rev-parse", "-q", "--verify", "HEAD")
	return strings.TrimSpace(ref) + " " + strings.TrimSpace(at)
}

func (u *userRepo) status() string {
	lines := strings.Split(u.git("status", "--porcelain", "-uall", "--no-renames", "--ignored=matching"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// model is what git status lists where HEAD, the index and the work tree have these
// files.
func (u *userRepo) model(head, index, flags, work map[string]string) string {
	var lines []string
	tell := func(x, y, name string) {
		if x+y != "  " {
			lines = append(lines, x+y+" "+name)
		}
	}
	for name := range union(union(head, index), work) {
		h, i, w := id(head, name), index[name], id(work, name)
		marked, intended := strings.ContainsAny(flags[name], "hSs"), strings.Contains(flags[name], "i")
		x, y := " ", " "
		switch {
		case intended:
		case i == "" && h != "":
			x = "D"
		case i != "" && h == "":
			x = "A"
		case i != h:
			x = "M"
		}
		switch {
		case marked, i == "":
		case intended && w != "":
			y = "A"
		case w == "":
			y = "D"
		case w != i:
			y = "M"
		}
		tell(x, y, name)
		if i == "" && w != "" {
			if strings.HasSuffix(name, ".log") && !strings.HasPrefix(u.git("rev-parse", "--git-dir"), "/") {
				lines = append(lines, "!! "+name)
			} else {
				lines = append(lines, "?? "+name)
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// move is what a landing does.
func (u *userRepo) move(from Position, to string) (*Move, error) {
	u.t.Helper()
	ctx := u.t.Context()
	r, err := Open(ctx, u.dir)
	if err != nil {
		u.t.Fatal(err)
	}
	s, err := r.NewStage(u.t.TempDir())
	if err != nil {
		u.t.Fatal(err)
	}
	if at, err := r.Position(ctx); err != nil || at != from {
		u.t.Fatalf("HEAD is at %+v, want %+v: %v", at, from, err)
	}
	m, err := s.PlanMove(ctx, from, "hank/work", to, "")
	if err != nil {
		return nil, err
	}
	if err := s.KeepIndex(ctx, m.Index); err != nil {
		u.t.Fatal(err)
	}
	if err := s.MoveIndex(ctx, m); err != nil {
		u.t.Fatal(err)
	}
	if err := s.MoveHead(ctx, m); err != nil {
		u.t.Fatal(err)
	}
	return m, nil
}
