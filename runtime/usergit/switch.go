package usergit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hank/internal/shell"
)

// Position is where the HEAD of the work tree is.
type Position struct {
	Ref    string // the reference that it stands for; empty: it is detached
	Commit string // empty: there is none yet
}

// Position reads it.
func (r *Repository) Position(ctx context.Context) (p Position, err error) {
	ref, err := r.output(ctx, call{dir: r.Top, env: r.env, args: []string{"symbolic-ref", "--quiet", "HEAD"}, none: 1})
	if err != nil {
		return p, err
	}
	p.Ref = strings.TrimSuffix(string(ref), "\n")
	p.Commit, err = r.Commit(ctx, "HEAD")
	return p, err
}

// BlockedError says why HEAD and the index cannot be put on a branch.
type BlockedError struct {
	What  string
	Paths []string // those it is about
	Ways  []string // what ends it
}

func (e *BlockedError) Error() string { return e.What }

// operations are those of git that take several commands, by what is in the
// repository meanwhile.
var operations = []struct{ file, what, ways string }{
	{"MERGE_HEAD", "a merge", "git merge --continue|git merge --abort"},
	{"rebase-merge", "a rebase", "git rebase --continue|git rebase --abort"},
	{"rebase-apply/applying", "git am", "git am --continue|git am --abort"},
	{"rebase-apply", "a rebase", "git rebase --continue|git rebase --abort"},
	{"CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --continue|git cherry-pick --abort"},
	{"REVERT_HEAD", "a revert", "git revert --continue|git revert --abort"},
	{"sequencer", "a cherry-pick or revert", "git cherry-pick --abort|git revert --abort"},
	{"BISECT_LOG", "a bisect", "git bisect reset"},
}

// CheckIdle returns a *BlockedError if an operation of git is in progress in the
// work tree.
func (r *Repository) CheckIdle() error {
	for _, o := range operations {
		if _, err := os.Lstat(filepath.Join(r.gitDir, filepath.FromSlash(o.file))); err == nil {
			return &BlockedError{What: o.what + " is in progress in " + r.Top, Ways: strings.Split(r.here(o.ways), "|")}
		}
	}
	lock := filepath.Join(r.gitDir, "index.lock")
	if _, err := os.Lstat(lock); err == nil {
		return &BlockedError{What: "another Git command holds the index, or one was killed (" + lock + " exists)", Ways: []string{"wait until it ends", "remove that file if no Git command is running"}}
	}
	return nil
}

// here are commands of git as they can be typed anywhere.
func (r *Repository) here(commands string) string {
	return strings.ReplaceAll(commands, "git ", "git -C "+shell.Quote(r.Top)+" ")
}

// CheckFree returns a *BlockedError if a branch is in use in another work tree of
// the repository: checked out, or being rebased or bisected there.
func (r *Repository) CheckFree(ctx context.Context, branch string) error {
	list, err := r.read(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return err
	}
	at := ""
	for line := range strings.SplitSeq(list, "\n") {
		if name, ok := strings.CutPrefix(line, "worktree "); ok {
			at = name
		}
		if line == "branch refs/heads/"+branch && !sameDir(at, r.Top) {
			return &BlockedError{What: fmt.Sprintf("branch %s is checked out in another work tree, %s", branch, at), Ways: []string{"switch to another branch there", r.here("git worktree prune") + ", if that work tree is gone"}}
		}
	}
	common, err := r.read(ctx, "rev-parse", "--git-common-dir")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(r.Top, common)
	}
	dirs, _ := filepath.Glob(filepath.Join(common, "worktrees", "*")) // the pattern is right
	for _, dir := range append(dirs, common) {
		for _, name := range []string{"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"} {
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if short := strings.TrimPrefix(strings.TrimSpace(string(text)), "refs/heads/"); err == nil && short == branch {
				return &BlockedError{What: fmt.Sprintf("branch %s is being rebased or bisected (%s)", branch, filepath.Join(dir, name)), Ways: []string{"end that first"}}
			}
		}
	}
	return nil
}

func sameDir(a, b string) bool {
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}

// IndexEntry is what an index has at a path.
type IndexEntry struct {
	Entry
	Unmerged bool
	Skipped  bool // skip-worktree
	Assumed  bool // assume-unchanged
}

// CopyIndex returns a copy of the work tree's index, as it is now, on the stage.
func (s *Stage) CopyIndex() (*Index, error) {
	data, err := os.ReadFile(filepath.Join(s.r.gitDir, "index"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s.n++
	x := &Index{s: s, file: filepath.Join(s.dir, fmt.Sprintf("copy-%d", s.n)), copied: true}
	if err != nil {
		return x, nil // git takes an index that is not there for an empty one
	}
	return x, os.WriteFile(x.file, data, 0o600)
}

// Sparse returns what an index has that git makes of a commit by the rules of the user's sparse
// checkout. The user's own index does not tell: git forgets there that a file was left out, as
// soon as something has made the file.
func (s *Stage) Sparse(ctx context.Context, commit string) (files map[string]IndexEntry, err error) {
	x, err := s.NewIndex(ctx, commit)
	if err != nil {
		return nil, err
	}
	x.copied = true // what follows obeys the rules
	err = s.withTree(func(tree string, _ *os.Root) error {
		if _, err := x.git(ctx, tree, nil, "read-tree", "-m", "-u", "--no-recurse-submodules", commit); err != nil {
			return err
		}
		files, err = x.files(ctx, tree)
		return err
	})
	return files, err
}

// Files returns what the index has. Of an unmerged path it is the last of its
// entries.
func (x *Index) Files(ctx context.Context) (map[string]IndexEntry, error) {
	return x.files(ctx, x.dir())
}

func (x *Index) files(ctx context.Context, tree string) (map[string]IndexEntry, error) {
	out, err := x.git(ctx, tree, nil, "ls-files", "-v", "--stage", "-z", "--full-name")
	if err != nil {
		return nil, err
	}
	files := map[string]IndexEntry{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		head, path, ok := strings.Cut(line, "\t")
		f := strings.Fields(head) // tag, mode, id, stage
		if !ok || len(f) != 4 {
			continue
		}
		tag := strings.ToUpper(f[0])
		files[path] = IndexEntry{Entry: Entry{f[1], f[2]}, Unmerged: f[3] != "0", Skipped: tag == "S", Assumed: tag != f[0]}
	}
	return files, nil
}

// move makes the entries that equal one tree those of another, as git does when it
// switches: what equals neither stays, and git refuses if that cannot be.
func (x *Index) move(ctx context.Context, from, to string) error {
	_, err := x.git(ctx, x.dir(), nil, moveArgs(from, to)...)
	return err
}

func moveArgs(from, to string) []string { return []string{"read-tree", "-i", "-m", from, to} }

// Move is a move of HEAD and the index from where they are to a commit of a branch.
// No file of the work tree is written by it.
type Move struct {
	From   Position
	Branch string   // HEAD is on it afterwards
	To     string   // the branch's commit
	Index  string   // the tree of what the index has
	After  string   // and of what it is going to have
	Staged []string // what is staged afterwards as before
	Was    string   // the branch's commit before the landing of which this is the end; empty: it was not there, or as now
	// Moved: the index is there already, because an earlier move got so far.
	Moved bool
	Plain bool // nothing was staged before
}

// Here reports whether HEAD is on the branch before the move.
func (m *Move) Here() bool { return m.From.Ref == "refs/heads/"+m.Branch }

// Back is the command that brings HEAD and the index back, in a shell, and the branch where
// it was moved; option is the -C that git needs there. Killed between its steps it can be
// given again. It loses no commit, and changes nothing where what it goes back to has moved.
func (m *Move) Back(option string) string {
	if m.From.Commit == "" {
		return m.back(option, "refs/heads/"+m.Branch) // HEAD has no commit once it is back
	}
	return m.back(option, "HEAD")
}

// BackHalfway is the same where the index was moved, and HEAD was not.
func (m *Move) BackHalfway(option string) string { return m.back(option, m.To) }

// back is the command where the index is that of a commit.
func (m *Move) back(option, at string) string {
	index, branch, was := m.Index, "refs/heads/"+m.Branch, m.Was
	if m.Plain {
		index = m.From.Commit // which is kept longer than a tree
	}
	var steps []string
	step := func(words ...string) {
		for i, w := range words {
			words[i] = shell.Quote(w)
		}
		steps = append(steps, "git"+option+" "+strings.Join(words, " "))
	}
	switch {
	case m.Here():
		was = m.From.Commit
		steps = append(steps, `test "$(git`+option+` symbolic-ref HEAD)" = `+shell.Quote(branch))
	case m.From.Ref != "":
		unmoved := cmp.Or(m.From.Commit, strings.Repeat("0", len(m.To))) // which says that there is none
		step("update-ref", m.From.Ref, unmoved, unmoved)
	}
	if was != "" {
		step("merge-base", "--is-ancestor", branch, m.To)
	}
	step("read-tree", "-i", "-m", at, index)
	if was != "" {
		step("update-ref", branch, was)
	}
	switch {
	case m.Here():
	case m.From.Ref != "":
		step("symbolic-ref", "HEAD", m.From.Ref)
	default:
		step("update-ref", "--no-deref", "HEAD", m.From.Commit)
	}
	return strings.Join(steps, " && ")
}

// PlanMove tries a move on a copy of the index: there, and back again. It returns a
// *BlockedError if staged changes would not stay as they are, or if the way back
// would not restore the index. before is the tree of what the index had when an
// earlier try began; empty: there was none.
func (s *Stage) PlanMove(ctx context.Context, from Position, branch, to, before string) (*Move, error) {
	x, err := s.CopyIndex()
	if err != nil {
		return nil, err
	}
	m := &Move{From: from, Branch: branch, To: to}
	had, err := x.Files(ctx)
	if err != nil {
		return nil, err
	}
	if unmerged := pathsOf(had, func(_ string, e IndexEntry) bool { return e.Unmerged }); len(unmerged) > 0 {
		return nil, &BlockedError{What: "the index has conflicts that are not resolved", Paths: unmerged, Ways: []string{"resolve them and git add the files"}}
	}
	if m.Index, err = x.Tree(ctx); err != nil {
		return nil, err
	}
	old, new, is, err := x.three(ctx, from.Commit, to, m.Index)
	if err != nil {
		return nil, err
	}
	if err := s.r.blocked(ctx, old, new, is, had, from.Commit == ""); err != nil {
		return nil, err
	}
	base := from.Commit
	if base == "" {
		if base, err = s.r.emptyTree(ctx); err != nil {
			return nil, err
		}
	}
	if err := x.move(ctx, base, to); err != nil {
		return nil, refusal(err)
	}
	has, err := x.Files(ctx)
	if err != nil {
		return nil, err
	}
	if lost := differing(wanted(old, new, had), has); len(lost) > 0 {
		return nil, &BlockedError{What: "what is staged is in the way of what the run changed", Paths: lost, Ways: []string{s.r.unstage(ctx, lost, from.Commit == "")}}
	}
	if m.After, err = x.Tree(ctx); err != nil {
		return nil, err
	}
	for path, e := range has {
		if e.Entry != new[path] && is[path] != (Entry{}) {
			m.Staged = append(m.Staged, path)
		}
	}
	for path := range new {
		if _, there := has[path]; !there {
			m.Staged = append(m.Staged, path)
		}
	}
	slices.Sort(m.Staged)
	if before != "" {
		if m.Moved, err = x.moved(ctx, before, old, new, had); err != nil {
			return nil, err
		}
	}
	if m.Moved {
		m.Index = before
	}
	if from.Commit != "" {
		tree, err := s.r.read(ctx, "rev-parse", "--verify", from.Commit+"^{tree}")
		if err != nil {
			return nil, err
		}
		m.Plain = tree == m.Index
	}
	if m.Moved {
		return m, nil
	}
	if err := x.move(ctx, to, m.Index); err != nil {
		return nil, refusal(err)
	}
	if has, err = x.Files(ctx); err != nil {
		return nil, err
	}
	if lost := differing(had, has); len(lost) > 0 {
		return nil, &BlockedError{What: "Git could not bring the index back from the branch to what it is now", Paths: lost, Ways: []string{s.r.unstage(ctx, lost, from.Commit == "")}}
	}
	return m, nil
}

// three are the files of two commits and of a tree.
func (x *Index) three(ctx context.Context, from, to, tree string) (old, new, is map[string]Entry, err error) {
	for _, e := range []struct {
		files *map[string]Entry
		tree  string
	}{{&old, from}, {&new, to}, {&is, tree}} {
		if e.tree == "" {
			continue
		}
		if *e.files, err = x.s.r.entries(ctx, x.dir(), x.env(x.s.r.Top), e.tree); err != nil {
			return nil, nil, nil, err
		}
	}
	return old, new, is, nil
}

// blocked returns why the entries of the index at the paths that differ between
// two commits cannot become those of the second. is has the entries that a commit
// of the index would have: all but those that are only intended to be added.
func (r *Repository) blocked(ctx context.Context, old, new, is map[string]Entry, had map[string]IndexEntry, unborn bool) error {
	list := map[string][]string{}
	for path := range changed(old, new) {
		e, there := had[path]
		kind := ""
		switch {
		case old[path].Mode == Submodule, new[path].Mode == Submodule, e.Mode == Submodule:
			kind = "submodule"
		case e.Assumed:
			kind = "assumed"
		case e.Skipped:
			kind = "skipped"
		case there && is[path] == (Entry{}):
			continue
		case e.Entry != old[path] && e.Entry != new[path]:
			kind = "staged"
		default:
			continue
		}
		list[kind] = append(list[kind], path)
	}
	// Git refuses these also where the run has changed nothing.
	list["intended"] = pathsOf(had, func(path string, _ IndexEntry) bool {
		return is[path] == (Entry{}) && (old[path] != (Entry{}) || new[path] != (Entry{}))
	})
	for _, k := range []struct{ kind, what, way string }{
		{"submodule", "a submodule is in the way", "land without --switch, and merge the branch in another work tree"},
		{"staged", "what is staged differs from what the run made of the same files", ""},
		{"intended", "git add --intent-to-add marks files that HEAD or the branch has", r.reset(list["intended"], unborn) + " unstages them and changes no file"},
		{"assumed", "git update-index --assume-unchanged marks files that the run changed", r.line(list["assumed"], "update-index", "--no-assume-unchanged")},
		{"skipped", "git update-index --skip-worktree marks files that the run changed", r.line(list["skipped"], "update-index", "--no-skip-worktree")},
	} {
		if paths := list[k.kind]; len(paths) > 0 {
			slices.Sort(paths)
			if k.kind == "staged" {
				k.way = r.unstage(ctx, paths, unborn)
			}
			return &BlockedError{What: k.what, Paths: paths, Ways: []string{k.way}}
		}
	}
	return nil
}

// changed are the paths that differ.
func changed(old, new map[string]Entry) map[string]bool {
	paths := map[string]bool{}
	for path, e := range old {
		if new[path] != e {
			paths[path] = true
		}
	}
	for path := range new {
		if _, there := old[path]; !there {
			paths[path] = true
		}
	}
	return paths
}

// wanted is the index after a move.
func wanted(old, new map[string]Entry, had map[string]IndexEntry) map[string]IndexEntry {
	want := maps.Clone(had)
	for path := range changed(old, new) {
		if e := want[path]; e.Entry != old[path] {
			continue
		}
		if delete(want, path); new[path] != (Entry{}) {
			want[path] = IndexEntry{Entry: new[path]}
		}
	}
	return want
}

// differing are the paths at which two indexes differ.
func differing(a, b map[string]IndexEntry) (paths []string) {
	for path, e := range a {
		if b[path] != e {
			paths = append(paths, path)
		}
	}
	for path := range b {
		if _, there := a[path]; !there {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// moved reports whether an index that had the tree before is moved already: what
// equalled the old commit then equals the new one now.
func (x *Index) moved(ctx context.Context, before string, old, new map[string]Entry, has map[string]IndexEntry) (bool, error) {
	then, err := x.s.r.entries(ctx, x.dir(), x.env(x.s.r.Top), before)
	if err != nil {
		return false, nil // the tree is gone: there is nothing to go back to
	}
	any := false
	for path := range changed(old, new) {
		if then[path] == old[path] {
			if any = true; has[path].Entry != new[path] {
				return false, nil
			}
		}
	}
	return any, nil
}

func pathsOf(files map[string]IndexEntry, is func(string, IndexEntry) bool) (paths []string) {
	for path, e := range files {
		if is(path, e) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// refusal is git's own, of a move.
func refusal(err error) error {
	var git *GitError
	if errors.As(err, &git) {
		return &BlockedError{What: git.Error(), Ways: []string{"git status names what is staged"}}
	}
	return err
}

// KeepIndex puts the tree of what the index has into the repository's object store,
// durably: where the way back finds it.
func (s *Stage) KeepIndex(ctx context.Context, want string) error {
	x, err := s.CopyIndex()
	if err != nil {
		return err
	}
	env := append(slices.Clone(s.r.env), "GIT_INDEX_FILE="+x.file)
	out, err := s.r.output(ctx, call{dir: s.r.Top, env: env, own: true, lasts: true, args: []string{"write-tree", "--missing-ok"}})
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(string(out)); got != want {
		return &BlockedError{What: "the index has changed meanwhile", Ways: []string{"run the same command again"}}
	}
	return nil
}

// MoveIndex moves the work tree's own index, and compares what became of it with
// the plan.
func (s *Stage) MoveIndex(ctx context.Context, m *Move) error {
	from := m.From.Commit
	if from == "" {
		var err error
		if from, err = s.r.emptyTree(ctx); err != nil {
			return err
		}
	}
	if err := s.r.moveIndex(ctx, from, m.To); err != nil {
		if held := s.r.CheckIdle(); held != nil {
			return held
		}
		return refusal(err)
	}
	x, err := s.CopyIndex()
	if err != nil {
		return err
	}
	if is, err := x.Tree(ctx); err != nil || is != m.After {
		return errors.Join(err, &BlockedError{What: "the index has changed meanwhile", Ways: []string{s.r.here("git status")}}, s.r.moveIndex(ctx, m.To, m.Index))
	}
	return nil
}

func (r *Repository) moveIndex(ctx context.Context, from, to string) error {
	if _, err := r.output(ctx, call{dir: r.Top, env: r.env, own: true, lasts: true, args: moveArgs(from, to)}); err != nil {
		return err
	}
	// So that programs that only compare times do not take the files for changed.
	// Those that are: exit code 1.
	_, err := r.output(ctx, call{dir: r.Top, env: r.env, own: true, lasts: true, args: []string{"update-index", "-q", "--refresh"}, none: 1})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_ = err // a filter that fails is git's to report, by any command that compares
	return nil
}

// MoveHead puts HEAD on the branch, or the branch that HEAD is on onto the commit.
// If it cannot be, the index goes back.
func (s *Stage) MoveHead(ctx context.Context, m *Move) error {
	err := s.moveHead(ctx, m)
	if err != nil {
		err = errors.Join(err, s.r.moveIndex(context.WithoutCancel(ctx), m.To, m.Index))
	}
	return err
}

func (s *Stage) moveHead(ctx context.Context, m *Move) error {
	now, err := s.r.Position(ctx)
	if err != nil {
		return err
	}
	if now != m.From {
		return &BlockedError{What: "HEAD has moved meanwhile", Ways: []string{"run the same command again"}}
	}
	if m.Here() {
		return s.r.Advance(ctx, m.Branch, m.From.Commit, m.To, "hank land --update --switch")
	}
	from := strings.TrimPrefix(m.From.Ref, "refs/heads/")
	if from == "" {
		from = m.From.Commit
	}
	// git switch - and @{-1} look for this text.
	why := fmt.Sprintf("checkout: moving from %s to %s", from, m.Branch)
	_, err = s.r.output(ctx, call{dir: s.r.Top, env: s.r.env, lasts: true, args: []string{"symbolic-ref", "-m", why, "HEAD", "refs/heads/" + m.Branch}})
	return err
}

// Advance moves a branch from one commit to another, durably; it must be there.
func (r *Repository) Advance(ctx context.Context, branch, from, to, why string) error {
	_, err := r.output(ctx, call{dir: r.Top, env: r.env, lasts: true, args: []string{"update-ref", "-m", why, "refs/heads/" + branch, to, from}})
	return err
}

// Has reports whether a commit has another in its history, or is it.
func (r *Repository) Has(ctx context.Context, commit, other string) bool {
	_, err := r.read(ctx, "merge-base", "--is-ancestor", other, commit)
	return err == nil
}

// Staged reports whether the index may differ from HEAD.
func (r *Repository) Staged(ctx context.Context) bool {
	_, err := r.read(ctx, "diff-index", "--cached", "--quiet", "HEAD", "--")
	return err != nil
}

// Signs reports whether the user's configuration has commits signed.
func (r *Repository) Signs(ctx context.Context) (bool, error) {
	out, err := r.output(ctx, call{dir: r.Top, env: r.env, args: []string{"config", "--type=bool", "--get", "commit.gpgSign"}, none: 1})
	return strings.TrimSpace(string(out)) == "true", err
}

// emptyTree is the name of the tree without a file.
func (r *Repository) emptyTree(ctx context.Context) (string, error) {
	out, err := r.output(ctx, call{dir: r.Top, env: r.env, args: []string{"hash-object", "-t", "tree", "--stdin"}, stdin: strings.NewReader("")})
	return strings.TrimSpace(string(out)), err
}

// mostPaths is how many paths a command names that can as well name them all.
const mostPaths = 20

// unstage is the command that takes paths back to what HEAD has in the index. What was
// staged may be nowhere else: it is kept on a branch first. Another command stages it again
// from there, unless the paths are too many to name: with all paths it would take those that
// the landing brings back to what they were.
func (r *Repository) unstage(ctx context.Context, paths []string, unborn bool) string {
	const most = 100
	branch := "staged"
	for n := 2; n < most; n++ {
		if why, err := r.CheckBranch(ctx, branch); err != nil || why == "" {
			break
		}
		branch = fmt.Sprintf("staged-%d", n)
	}
	git, parent := "git -C "+shell.Quote(r.Top), " -p HEAD"
	if unborn {
		parent = ""
	}
	keep := fmt.Sprintf(`%s branch %s "$(%s commit-tree%s -m 'What was staged' "$(%s write-tree)")" && `, git, branch, git, parent, git)
	text := keep + r.reset(paths, unborn) + " keeps what is staged on the branch " + branch + ", unstages it and changes no file"
	if len(paths) <= mostPaths {
		text += "; " + r.line(paths, "--literal-pathspecs", "restore", "--staged", "--source="+branch) + " stages it again after the landing"
	}
	return text
}

// reset is the command that takes paths back to what HEAD has in the index, or, where they
// are many, all.
func (r *Repository) reset(paths []string, unborn bool) string {
	args := []string{"--literal-pathspecs", "restore", "--staged"}
	if unborn {
		args = []string{"--literal-pathspecs", "rm", "-q", "-r", "-f", "--cached"} // -f: what is staged is no longer what the file has
	}
	if len(paths) > mostPaths {
		paths = []string{"."}
	}
	return r.line(paths, args...)
}

// line is a command of git on paths, as it can be typed anywhere.
func (r *Repository) line(paths []string, args ...string) string {
	words := slices.Concat([]string{"git", "-C", r.Top}, args, []string{"--"}, slices.Sorted(slices.Values(paths)))
	for i, w := range words {
		words[i] = shell.Quote(w)
	}
	return strings.Join(words, " ")
}
