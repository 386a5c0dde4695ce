package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/remote"
	"hank/checkpoint/repair"
	"hank/internal/advice"
	"hank/internal/failpoint"
	"hank/internal/shell"
	"hank/internal/vfs"
	"hank/plan/kind"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
	"hank/state/journal"
)

// Import brings checkpoints back from where they were exported to, and opens
// the execution. Where there is none, one is made of them: its state, journal
// and costs are rebuilt from their records, and the workspace is filled. What
// is not in git (transcripts, the archive) does not come back.
//
//  1. The directories, and in hank's own a mark: as long as it is there, nothing but
//     an import opens the execution, for nobody knows what it lacks.
//  2. The store, with all checkpoints. Then the state and the journal are made
//     of their records, as for an execution that has lost them.
//  3. The workspace is filled, and the mark is removed.
//
// A crash in between, or an error of the other side, leaves what the same import
// continues with. In an execution that is there already there is no mark: it knows
// which checkpoints it lacks.
func Import(ctx context.Context, root string, from remote.Remote, o execution.Options) (*execution.Execution, *remote.Transfer, error) {
	o = o.WithDefaults()
	if err := layout.Nameable(root); err != nil {
		return nil, nil, err
	}
	if err := lock.MayActIn(root, o.Workspace); err != nil {
		return nil, nil, err
	}
	mark, cut := importing(o.FS, root)
	fresh := cut || !layout.ExistsIn(o.FS, root)
	if cut && mark.prefix != from.Prefix {
		return nil, nil, importCut(root, mark)
	}
	keep, exclude := o.KeepTree || mark.keepTree, o.ExcludeSecrets || mark.exclude
	if fresh {
		if err := askAboutTree(ctx, root, cut, o); err != nil {
			return nil, nil, err
		}
		if err := beginImport(root, from, keep, exclude, o); err != nil {
			return nil, nil, fmt.Errorf("making the execution: %w", err)
		}
	}
	var moved *remote.Transfer
	o.Refill = func(store *checkpoint.Store) (err error) {
		moved, err = remote.Import(ctx, store.DB, from)
		return err
	}
	x, err := Open(ctx, root, o)
	if err != nil || !fresh {
		return x, moved, err
	}
	failpoint.Hit("import.opened")
	if !keep || exclude {
		err = x.LeaveOutPresent(ctx, exclude)
	}
	failpoint.Hit("import.excluded")
	if !keep && err == nil {
		err = errors.Join(fill(ctx, x, cut), nameEarlierFills(x, cut))
	}
	failpoint.Hit("import.filled")
	if err == nil || ctx.Err() == nil { // what could not be filled is told, and the execution is whole
		mark := x.Layout.Importing()
		err = errors.Join(err, x.FS.Remove(mark), x.FS.SyncDir(filepath.Dir(mark)))
	}
	if err != nil {
		return nil, moved, errors.Join(err, x.Close())
	}
	nameLostSession(x)
	return x, moved, nil
}

// SessionAbsent reports whether the agent's session of an attempt is not with the
// execution: its transcript is not, since an export has neither, nor has the store, which
// has says, a checkpoint of it.
func SessionAbsent(l layout.Layout, has func(state.SHA) bool, c *state.Codon) bool {
	if c.ClaudeSessionID == "" || c.Harness == "" || !kind.Of(c.Harness).HasSessions || c.Replayed() || c.ClaudeLogPath == "" {
		return false
	}
	_, err := os.Lstat(l.Resolve(c.ClaudeLogPath))
	return errors.Is(err, os.ErrNotExist) && (c.SessionCheckpoint == "" || !has(c.SessionCheckpoint))
}

// NoSession says of a codon whose session is absent what continues without.
func NoSession(c *state.Codon) string {
	return fmt.Sprintf("the agent's interrupted session of codon %s is not here, nor is its transcript (an export has neither): `hank run` runs the codon again from the state before it", c.CodonID)
}

// nameLostSession says where the next codon is to continue an agent's session: those
// are in the agents' homes, which no checkpoint has. What began it does it again.
func nameLostSession(x *execution.Execution) {
	s := x.State()
	next, entries := s.Next(), s.ExecutionPlan()
	if r := s.RunAtPosition(); r != nil && r.Len() > 0 {
		if c := r.Codon(r.Len() - 1); c.Interrupted != "" && SessionAbsent(x.Layout, x.HasCheckpoint, c) {
			x.Report.Add(finding.Warning, "%s", NoSession(c))
		}
	}
	continues := func(i int) bool { return entries[i].Codon.ContinuesSession() }
	if next >= len(entries) || !continues(next) {
		return
	}
	if session := s.PreviousSession(next); session.ID == "" || session.Checkpoint != "" && x.HasCheckpoint(session.Checkpoint) {
		return
	}
	first := next - 1
	for first > 0 && continues(first) {
		first--
	}
	id := entries[first].CodonID
	x.Report.Add(finding.Warning, "codon %s is to continue the agent's session that codon %s has begun, and an export has no sessions; `hank retry %s -e %s` begins again there, with a session of its own",
		entries[next].CodonID, id, shell.Quote(string(id)), shell.Quote(x.Layout.Root))
}

// Importing reports whether an execution is only half imported, and from below
// which prefix.
func Importing(root string) (prefix string, cut bool) {
	mark, cut := importing(vfs.OS, root)
	return mark.prefix, cut
}

// importMark is what the mark of an import says.
type importMark struct {
	prefix   string
	address  string // empty: it has a secret, or an older hank made the mark
	keepTree bool   // the workspace is left as it is
	exclude  bool   // files for secrets are left out of the checkpoints
}

// The lines of a mark after the prefix.
const (
	addressMark  = "from "
	keepTreeMark = "keep-tree"
	excludeMark  = "exclude-secrets"
)

func importing(fsys vfs.FS, root string) (m importMark, cut bool) {
	text, err := vfs.ReadFile(fsys, layout.Layout{Root: root}.Importing())
	prefix, rest, _ := strings.Cut(string(text), "\n")
	m.prefix = strings.TrimSpace(prefix)
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		if address, found := strings.CutPrefix(line, addressMark); found {
			m.address = address
		}
		m.keepTree = m.keepTree || line == keepTreeMark
		m.exclude = m.exclude || line == excludeMark
	}
	return m, err == nil
}

func (m importMark) text() string {
	text := m.prefix + "\n"
	if m.address != "" {
		text += addressMark + m.address + "\n"
	}
	if m.keepTree {
		text += keepTreeMark + "\n"
	}
	if m.exclude {
		text += excludeMark + "\n"
	}
	return text
}

// repeatable returns the address of an import as it can be given again from any
// directory; empty where it must not be written down.
func repeatable(address string) string {
	if fi, err := os.Stat(address); err == nil && fi.IsDir() {
		if abs, err := filepath.Abs(address); err == nil {
			address = abs
		}
	}
	if remote.WithoutSecrets(address) != address || strings.ContainsAny(address, "\r\n") {
		return ""
	}
	return address
}

// askAboutTree asks before an import fills a workspace that has files in it. Files
// for secrets are not taken into the checkpoint of what is there.
func askAboutTree(ctx context.Context, root string, cut bool, o execution.Options) error {
	l := layout.Layout{Root: root, Workspace: cmp.Or(o.Workspace, layout.DefaultWorkspace(root))}
	n := entriesIn(l.Workspace)
	if cut || n == 0 {
		return nil
	}
	if answered := o.RestoreTree || o.KeepTree; answered && !o.IncludeSecrets && !o.ExcludeSecrets {
		return askAboutSecrets(ctx, l, o)
	} else if answered {
		return nil
	}
	return &finding.DecisionError{What: fmt.Sprintf("the import would fill %s, which has %s in it", l.Workspace, layout.Entries(n)), Options: []string{
		"--keep-tree leaves it as it is: `hank run` then compares it with the newest checkpoint, and asks where it differs",
		"--restore makes it as in the newest checkpoint, and keeps what is there in a checkpoint of its own",
		"-e DIR imports into another directory"}}
}

// askAboutSecrets asks before files for secrets are kept in a checkpoint: what is in
// one stays in it. Those that the directory's ignore rules hide are not asked about:
// see LeaveOutPresent.
func askAboutSecrets(ctx context.Context, l layout.Layout, o execution.Options) error {
	size, err := execution.FirstEstimate(ctx, l)
	if err != nil {
		return fmt.Errorf("looking for files with secrets in the workspace: %w", err)
	}
	n := len(size.Private)
	if n == 0 {
		return nil
	}
	shown := strings.Join(size.Private[:min(3, n)], ", ")
	if n > 3 {
		shown += fmt.Sprintf(" and %d more", n-3)
	}
	maker := "--restore"
	if o.KeepTree {
		maker = "the next `hank run --keep-tree`"
	}
	return &finding.DecisionError{What: fmt.Sprintf("%s has files that hold secrets by their names, and the checkpoint that %s makes of what is there would keep them: %s; nothing was changed", l.Workspace, maker, shown), Options: []string{
		"--exclude-secrets leaves them where they are, and out of every checkpoint",
		"--include-secrets includes them",
		"move them out of this directory, and run the same command again",
		"-e DIR imports into another directory"}}
}

func importCut(root string, m importMark) error {
	again, command := "`hank checkpoints import` with the same address", ""
	if m.address != "" {
		command = "hank checkpoints import " + shell.Quote(m.address)
		again = advice.Quote(command + " -e " + shell.Quote(root))
	}
	return &finding.DecisionError{
		What:    fmt.Sprintf("an import of %s into %s was interrupted; what is there is incomplete", m.prefix, root),
		Options: []string{again + " continues it", "delete " + layout.Layout{Root: root}.Hankweave() + " to give it up: nothing has run there yet"},
		Command: command,
	}
}

// interrupted is the error where an import or a reset has not come to its end.
func interrupted(root string, o execution.Options) error {
	if mark, cut := importing(o.FS, root); cut && o.Refill == nil {
		return importCut(root, mark)
	}
	if r, cut := layout.Resetting(o.FS, root); cut {
		return resetInterrupted(root, r)
	}
	return nil
}

// resetInterrupted says that a part of the execution is elsewhere.
func resetInterrupted(root string, r layout.Reset) error {
	return &finding.DecisionError{
		What:    fmt.Sprintf("a reset of %s was interrupted; a part of it may be in %s", root, r.To),
		Options: []string{"`hank reset` finishes it", "`hank reset --undo` moves everything back"},
		Command: "hank reset",
	}
}

func beginImport(root string, from remote.Remote, keep, exclude bool, o execution.Options) error {
	l := layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}
	if o.Workspace != "" {
		l.Workspace = o.Workspace
	}
	for _, dir := range []string{l.Root, l.Workspace, l.Hankweave()} {
		perm := fs.FileMode(0o755)
		if dir == l.Hankweave() {
			perm = 0o700
		}
		if err := vfs.MkdirAll(o.FS, dir, perm); err != nil {
			return err
		}
	}
	failpoint.Hit("import.begun")
	mark := importMark{from.Prefix, repeatable(from.Address), keep, exclude}
	if err := vfs.ReplaceFile(o.FS, l.Importing(), []byte(mark.text()), 0o600, vfs.Durable); err != nil {
		return err
	}
	failpoint.Hit("import.marked")
	return nil
}

// fill brings the workspace to where the execution is. What was there is in
// a recovery checkpoint, and hank rollback --undo brings it back. cut: an earlier
// import was interrupted.
func fill(ctx context.Context, x *execution.Execution, cut bool) error {
	head := x.Head()
	if head == "" || cut && isFilled(x) {
		return nil
	}
	moved, err := x.MoveTree(ctx, execution.Move{Kind: "restore", To: head, Tracked: checkpoint.Selection{All: true}, Position: filledAt(x, head)})
	if err == nil {
		reportRefused(x, moved.Report.Refused)
		if len(moved.Report.Plan.Change)+len(moved.Report.Plan.Delete) > 0 {
			nameSaved(x, "what was in the workspace", moved.Safety)
		}
	}
	var unsafe *checkpoint.UnsafeTreeError
	if errors.As(err, &unsafe) {
		return fmt.Errorf("the execution is there, and its workspace is as it was: %w", err)
	}
	if err != nil {
		return fmt.Errorf("the execution is there, and its workspace could not be filled (`hank run --restore` does it): %w", err)
	}
	return nil
}

// filledAt is the position that a fill leads to: where the execution is, with
// its verdict, after a move that hank rollback --undo undoes. nil: there is
// nothing to take back, or nothing has run.
func filledAt(x *execution.Execution, head state.SHA) *state.Position {
	s := x.State()
	if entriesIn(x.Layout.Workspace) == 0 || s.RunAtPosition() == nil {
		return nil
	}
	before := s.UndoPosition()
	at := before
	at.CheckpointSHA, at.Program, at.HankHash, at.Before, at.Reason = head, "", "", &before, ""
	return &at
}

// isFilled reports whether the execution is after a fill, that of an import
// which was interrupted later. Another one would take what it has left, because it
// was ignored, for a part of what is to be replaced.
func isFilled(x *execution.Execution) bool {
	p := x.State().Position
	if p == nil || p.Before == nil {
		return false
	}
	safety, err := x.Store.CommitInfo(checkpoint.SHA(p.Before.CheckpointSHA))
	kind, to := execution.MoveAfter(safety)
	return err == nil && kind == "restore" && to == p.CheckpointSHA
}

func nameSaved(x *execution.Execution, what string, sha state.SHA) {
	x.Report.Add(finding.Warning, "%s is in checkpoint %.12s: `hank restore . --from %.12[2]s --delete --yes -e %s` brings it back", what, sha, shell.Quote(x.Layout.Root))
	if p := x.State().Undoable(); p != nil && p.CheckpointSHA == sha {
		x.Report.Add(finding.Warning, "what the import has done to the workspace is undone by `hank rollback --undo --yes -e %s`", shell.Quote(x.Layout.Root))
	}
}

// nameEarlierFills names the checkpoints of what was in the workspace before, and
// while, an import was interrupted. The journal knows of them: nothing but that import
// has written to it.
func nameEarlierFills(x *execution.Execution, cut bool) error {
	if !cut {
		return nil
	}
	fills, err := fills(x)
	if err != nil {
		return fmt.Errorf("reading what the import has done before: %w", err)
	}
	for i := range fills {
		fill := &fills[i]
		if replaced, err := replaces(x, fill.Safety, fill.To); err != nil {
			return err
		} else if replaced { // what is said twice is told once
			nameSaved(x, "what was in the workspace", fill.Safety)
		}
		meanwhile, err := x.SavedMeanwhile(fill)
		if err != nil {
			return err
		}
		for _, sha := range meanwhile {
			nameSaved(x, "what was in the workspace while the import was interrupted", sha)
		}
	}
	return nil
}

// fills are the changes of the workspace that the journal has.
func fills(x *execution.Execution) (fills []state.Intent, err error) {
	take := func(e journal.Event) error {
		if e.Type != state.TransitionEvent {
			return nil
		}
		t, err := state.Decode(e.Data)
		if opened, is := t.(state.IntentOpened); is && err == nil {
			fills = append(fills, opened.Intent)
		}
		return err
	}
	for from := uint64(1); ; {
		err = journal.Read(x.FS, x.Layout.Events(), from, take)
		var gap *journal.GapError
		if !errors.As(err, &gap) || gap.Next <= from {
			return fills, err
		}
		from = gap.Next
	}
}

// replaces reports whether a checkpoint has something that another has not, or has
// otherwise.
func replaces(x *execution.Execution, safety, to state.SHA) (bool, error) {
	from, err := x.Tree(safety)
	if err != nil {
		return false, err
	}
	tree, err := x.Tree(to)
	if err != nil {
		return false, err
	}
	changes, err := diff.Diff(x.Store, from, tree)
	return slices.ContainsFunc(changes, func(c diff.Change) bool { return c.Kind != diff.Added }), err
}

// refill is Options.Refill, with a new store where there is none that can be
// used. It returns what opening the store says now. What is damaged is out of
// the way before: an object in it would count as one that is there.
func refill(ctx context.Context, x *execution.Execution, why error) (storeErr, err error) {
	var damaged *checkpoint.DamagedError
	if why != nil {
		if !errors.Is(why, fs.ErrNotExist) && !errors.As(why, &damaged) {
			return why, nil
		}
		if err := newStore(x, why); err != nil {
			return nil, err
		}
	}
	before := len(x.Report.Findings)
	if err := salvage(ctx, x); err != nil {
		return nil, err
	}
	if err := x.Opts.Refill(x.Store); err != nil {
		return nil, err
	}
	l, err := repair.FindMissing(ctx, x.Store.DB, nil)
	if err == nil && len(l.Cuts)+len(l.Tips) == 0 {
		for i := range x.Report.Findings[before:] {
			x.Report.Findings[before+i].Severity = finding.Mended // it came back
		}
	}
	return nil, err
}

// DefaultPrefix is where the branches of an execution stand in another
// repository.
func DefaultPrefix(s *state.State) string { return fmt.Sprintf("hank/%.8s", s.Lineage) }
