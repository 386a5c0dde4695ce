package reset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/failpoint"
	"hank/internal/lazyregexp"
	"hank/internal/registry"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/keeper"
	"hank/runtime/request"
	"hank/state"
)

// Move is what a reset, or the undo of one, moves, or has moved.
type Move struct {
	Schema    int      `json:"schema"`
	Execution string   `json:"execution"` // where the execution is without the reset
	Directory string   `json:"directory"` // where the reset puts it
	Names     []string `json:"moved"`
	Undo      bool     `json:"undo"`
	Applied   bool     `json:"applied"`
	Workspace string   `json:"workspace,omitempty"` // the user's own, which stays where it is

	meta   layout.Meta
	passed func(failpoint string)
}

// From and To are the directories between which it moves.
func (m *Move) From() string {
	if m.Undo {
		return m.Directory
	}
	return m.Execution
}

func (m *Move) To() string {
	if m.Undo {
		return m.Execution
	}
	return m.Directory
}

// Again is the command that begins an execution as the one that was moved had begun.
func (m *Move) Again() string {
	command := "hank run"
	if m.meta.HankPath != "" {
		command += " " + shell.Quote(term.ShortPath(m.meta.HankPath))
	}
	if data := m.meta.ReadOnlySourceDataPath; data != "" && m.meta.HankPath != "" {
		command += " " + shell.Quote(term.ShortPath(data))
	}
	if m.Workspace != "" {
		command += " --workspace " + shell.Quote(term.ShortPath(m.Workspace))
	}
	if m.meta.Output != "" {
		command += " --output " + shell.Quote(term.ShortPath(m.meta.Output))
	}
	switch m.meta.Replay {
	case "":
	case request.Noop:
		command += " --noop"
	default:
		command += " --replay " + shell.Quote(term.ShortPath(m.meta.Replay))
	}
	if m.meta.Sandbox != "" {
		command += " --sandbox " + shell.Quote(m.meta.Sandbox)
	}
	if m.meta.CheckpointCap != nil {
		command += fmt.Sprintf(" --checkpoint-cap %d", *m.meta.CheckpointCap)
	}
	if len(m.meta.LeftOut) > 0 {
		command += " --exclude-secrets"
	}
	return command + kept(m.To())
}

// kept are the options of the limits and the model that an execution keeps. They are in its
// state: of one that cannot be read they are not known.
func kept(root string) (options string) {
	v, err := recovery.Read(root)
	if err != nil {
		return ""
	}
	if l := v.State.Limits; l.MaxDollars > 0 {
		options += " --max-cost " + l.MaxDollars.String()
	}
	if l := v.State.Limits; l.MaxTimeSeconds > 0 {
		options += " --max-time " + strconv.FormatFloat(l.MaxTimeSeconds, 'f', -1, 64)
	}
	store, err := v.Store()
	if err != nil || v.State.Program == "" {
		return options
	}
	defer store.Close()
	if p, err := githistory.LoadProgram(store, v.State.Program); err == nil && p.Model != "" {
		options += " --model " + shell.Quote(p.Model)
	}
	return options
}

// Options are how a reset, or its undo, is done.
type Options struct {
	BreakLock string
	// Confirm is asked, while the execution is held, whether to go ahead.
	Confirm func(*Move) bool
}

// detachedLog is what the outputs of detached runs are called.
var detachedLog = lazyregexp.New(`^hank-\d{8}T\d{6}Z(-\d+)?\.log$`)

// Task is a reset, or the undo of one, that may still be begun or has been interrupted.
type Task struct {
	root   string
	record layout.Reset
	undo   bool
	// Begun is one that was interrupted, in this direction or the other.
	Begun bool
}

// Reset moves the execution in root out of the way. If a reset of it, or the undo of
// one, was interrupted, that is finished.
func Reset(root string) *Task {
	t := &Task{root: root}
	if t.record, t.Begun = layout.Resetting(vfs.OS, root); !t.Begun {
		t.record = newRecord(root, time.Now())
	}
	return t
}

// Undo moves an execution back to where it was before a reset. dir is the directory
// that the reset has made, or one that the execution was in or below it; of several
// resets the last one is undone. A reset or an undo that was interrupted comes first.
func Undo(dir string) (*Task, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if r, found := layout.ReadReset(vfs.OS, dir); found && filepath.Base(dir) == r.To {
		return &Task{root: filepath.Dir(dir), record: r, undo: true}, nil
	} else if _, interrupted := layout.Resetting(vfs.OS, dir); found && !interrupted {
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("%s was moved or renamed after `hank reset`: move it to %s first", dir, filepath.Join(r.From, r.To))}
	}
	for at := dir; ; at = filepath.Dir(at) {
		if r, interrupted := layout.Resetting(vfs.OS, at); interrupted {
			return &Task{at, r, true, true}, nil
		}
		for _, d := range slices.Backward(layout.ResetDirs(at)) {
			if r, found := layout.ReadReset(vfs.OS, d); found && r.To == filepath.Base(d) {
				return &Task{root: at, record: r, undo: true}, nil
			}
		}
		if layout.Exists(at) || at == filepath.Dir(at) {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("there is no reset to be undone: no directory %s… with an execution is in %s", layout.ResetPrefix, dir)}
		}
	}
}

// Preview returns what Do would move, or why it would refuse that.
func (t *Task) Preview() (*Move, error) {
	m := moveOf(t.root, t.record, t.undo)
	if t.undo {
		return m, m.checkWay(t.record)
	}
	if !t.Begun && layout.WasReset(vfs.OS, t.root) { // its record would be lost, and with it the way back
		return m, &exitcode.UsageError{Why: fmt.Sprintf("a reset has moved the execution to %s already; a new one begins in %s, and `hank reset --undo --yes` moves this one back there", t.root, filepath.Dir(t.root))}
	}
	return m, nil
}

// Do moves what is to be moved.
func (t *Task) Do(o Options) (*Move, error) {
	at := t.root
	if t.undo && !exists(layout.Layout{Root: t.root}.Reset()) {
		at = filepath.Join(t.root, t.record.To)
	}
	if err := lock.MayAct(at); err != nil {
		return nil, err
	}
	if _, err := t.Preview(); err != nil {
		return nil, err
	}
	k, err := hold(at, o)
	if err != nil {
		return nil, err
	}
	m, err := t.held(o)
	if err != nil {
		return nil, errors.Join(err, k.Release())
	}
	return m, release(k, m.To())
}

// held is Do while the execution is held.
func (t *Task) held(o Options) (*Move, error) {
	if !t.undo && !t.Begun {
		if err := reap(t.root); err != nil {
			return nil, err
		}
		t.record = newRecord(t.root, t.record.Time.Time)
	}
	m, err := t.Preview()
	if err != nil {
		return nil, err
	}
	if o.Confirm != nil && !t.Begun && !o.Confirm(m) {
		return nil, history.ErrDeclined
	}
	if t.undo {
		err = m.back(t.record)
	} else if err = m.forward(t.record); err != nil {
		err = errors.Join(err, m.takeBack(t.record))
	}
	m.Applied = err == nil
	return m, err
}

// newRecord is the record of a reset that begins now.
func newRecord(root string, now time.Time) layout.Reset {
	r := layout.Reset{Schema: 1, From: root, Time: state.At(now)}
	for n := 1; ; n++ {
		r.To = layout.ResetPrefix + now.UTC().Format("20060102T150405Z")
		if n > 1 {
			r.To += fmt.Sprintf("-%d", n)
		}
		if _, err := os.Lstat(filepath.Join(root, r.To)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		if e.Type().IsRegular() && detachedLog.MatchString(e.Name()) || e.Name() == layout.ArchiveName {
			r.Names = append(r.Names, e.Name())
		}
	}
	meta, _ := layout.ReadMeta(root) // without one the workspace is where it is by default
	if own := layout.DefaultWorkspace(root); meta.Workspace == "" && exists(own) {
		r.Names = append(r.Names, filepath.Base(own))
	}
	return r
}

// moveOf is what the rest of a reset, or of its undo, moves.
func moveOf(root string, r layout.Reset, undo bool) *Move {
	m := &Move{Schema: 1, Execution: root, Directory: filepath.Join(root, r.To), Undo: undo, Names: []string{}, passed: failpoint.Hit}
	from := root
	if undo {
		from = m.Directory
	}
	for _, name := range append(slices.Clone(r.Names), layout.Dir) {
		if exists(filepath.Join(from, name)) {
			m.Names = append(m.Names, name)
		}
	}
	for _, at := range []string{root, m.Directory} {
		if meta, err := layout.ReadMeta(at); err == nil {
			m.meta, m.Workspace = meta, meta.Workspace
		}
	}
	return m
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// hold takes an execution, with its workspace if that is there.
func hold(root string, o Options) (*lock.Lock, error) {
	l := layout.LayoutOf(root)
	if fi, err := os.Stat(l.Workspace); err != nil || !fi.IsDir() {
		l.Workspace = root
	}
	return lock.Acquire(vfs.OS, l, "hank reset", o.BreakLock, time.Now(), nil)
}

// release gives the hold on an execution that has been moved back.
func release(k *lock.Lock, at string) error {
	l := layout.Layout{Root: at}
	if err := vfs.OS.Remove(l.Lock()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, k.Release())
	}
	return k.Release()
}

// reap ends what a crashed run has left running, so that nothing writes into what is
// moved. A state that cannot be read names no run.
func reap(root string) error {
	v, err := recovery.Read(root)
	if err != nil {
		return nil
	}
	run := v.State.Newest()
	if run == nil || run.Live() == nil {
		return nil
	}
	_, err = keeper.ReapNames(recovery.Attempt(v.State.Lineage, run.RunID, run.Live()))
	return err
}

// forward carries the reset out from wherever it is.
func (m *Move) forward(r layout.Reset) error {
	r.Undo = false
	if err := m.record(m.Execution, r); err != nil {
		return err
	}
	m.passed("reset.recorded")
	if err := vfs.MkdirAll(vfs.OS, m.Directory, 0o755); err != nil {
		return err
	}
	if err := vfs.ReplaceFile(vfs.OS, m.ignoreFile(), []byte("*\n"), 0o644, vfs.Durable); err != nil { // as in hank's own directory
		return err
	}
	for _, name := range r.Names {
		if err := m.rename(m.Execution, m.Directory, name); err != nil {
			return err
		}
	}
	m.register(m.Directory)
	if err := m.rename(m.Execution, m.Directory, layout.Dir); err != nil {
		return err
	}
	_ = registry.Remove(m.Execution) // else a new execution there would be asked about
	return nil
}

// takeBack undoes what of a reset has been done, because the rest cannot be. What
// cannot be undone either is left to the next reset.
func (m *Move) takeBack(r layout.Reset) error {
	if _, begun := layout.Resetting(vfs.OS, m.Execution); !begun && layout.Exists(m.Execution) {
		return errors.New("nothing was moved") // not even the record could be written
	}
	if err := m.back(r); err != nil {
		return fmt.Errorf("what was moved could not be moved back (%w); `hank reset` continues, `hank reset --undo` moves it back", err)
	}
	return errors.New("nothing was moved")
}

// back carries the undo out from wherever it is.
func (m *Move) back(r layout.Reset) error {
	r.Undo = true
	at := m.Directory
	if exists(layout.Layout{Root: m.Execution}.Reset()) {
		at = m.Execution
	}
	if err := m.record(at, r); err != nil {
		return err
	}
	m.passed("reset.undoing")
	m.register(m.Execution)
	for _, name := range append([]string{layout.Dir}, r.Names...) {
		if err := m.rename(m.Directory, m.Execution, name); err != nil {
			return err
		}
	}
	_ = registry.Remove(m.Directory)
	for _, name := range []string{m.ignoreFile(), m.Directory} { // what else is there is the user's, and stays
		if err := vfs.OS.Remove(name); err != nil && name != m.Directory && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	m.passed("reset.emptied")
	l := layout.Layout{Root: m.Execution}
	if err := vfs.OS.Remove(l.Reset()); err != nil {
		return err
	}
	return vfs.OS.SyncDir(l.Hankweave())
}

func (m *Move) ignoreFile() string { return filepath.Join(m.Directory, ".gitignore") }

// record writes the record into the execution in a directory.
func (m *Move) record(at string, r layout.Reset) error {
	text, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return err
	}
	return vfs.ReplaceFile(vfs.OS, layout.Layout{Root: at}.Reset(), append(text, '\n'), 0o600, vfs.Durable)
}

// rename moves what has a name, unless it is there already.
func (m *Move) rename(from, to, name string) error {
	source, target := filepath.Join(from, name), filepath.Join(to, name)
	switch {
	case !exists(source):
		return nil // moved before, or deleted since
	case exists(target):
		return inTheWay([]string{target}, m)
	}
	if err := vfs.OS.Rename(source, target); err != nil {
		return err
	}
	m.passed("reset.moved")
	return errors.Join(vfs.OS.SyncDir(to), vfs.OS.SyncDir(from))
}

func inTheWay(paths []string, m *Move) error {
	return &finding.DecisionError{What: fmt.Sprintf("%s is in the way of what was moved to %s", paths[0], m.Directory),
		Options: []string{"move it away, and run the same command again"}}
}

// register lets hank ls find the execution where it will be. It is best effort.
func (m *Move) register(root string) {
	e := registry.Entry{Root: root, Lineage: m.meta.Lineage, Hank: m.meta.HankPath, Created: m.meta.CreatedAt.Time, LastUsed: time.Now()}
	_ = registry.Add(e)
}

// checkWay refuses an undo for which something is in the way.
func (m *Move) checkWay(r layout.Reset) error {
	if _, interrupted := layout.Resetting(vfs.OS, m.Execution); !interrupted && layout.Exists(m.Execution) {
		return &finding.DecisionError{What: fmt.Sprintf("another execution has begun in %s since", m.Execution),
			Options: []string{"`hank reset --yes -e " + shell.Quote(m.Execution) + "` moves that one out of the way, too, and then `hank reset --undo --yes -e " + shell.Quote(m.Directory) + "` brings this one back"}}
	}
	var paths []string
	for _, name := range append([]string{layout.Dir}, r.Names...) {
		if exists(filepath.Join(m.Directory, name)) && exists(filepath.Join(m.Execution, name)) {
			paths = append(paths, filepath.Join(m.Execution, name))
		}
	}
	if len(paths) > 0 {
		return inTheWay(paths, m)
	}
	return nil
}
