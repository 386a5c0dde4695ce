package execution

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state/journal"
)

// guard watches hank's own files while agents are at work: what they were when
// the run began, and what hank has made of them since. What somebody else has
// changed is written anew from memory and said. Git's objects are not in
// memory: a copy elsewhere, or the sandbox, keeps those.
type guard struct {
	modes map[string]fs.FileMode         // of folders
	files map[string][]byte              // small files of the store, nil: not there
	refs  map[string]checkpoint.SHA      // all references
	names map[string]map[string]struct{} // what is hank's in a folder

	mu      sync.Mutex
	Found   []string // what was noticed and not told by noticed
	deleted bool     // hank's folder as a whole: see remade
}

// ownFiles is what begins a sentence about something that was noticed.
const ownFiles = "hank's own files were changed while the codon was at work: "

// Guard begins to watch the execution's own files. A run calls it once, before
// its first agent.
func (x *Execution) Guard() error {
	g := &guard{modes: map[string]fs.FileMode{}, files: map[string][]byte{}, names: map[string]map[string]struct{}{}}
	var err error
	if g.refs, err = x.Store.Refs("refs/"); err != nil {
		return err
	}
	for _, dir := range x.ownFolders() {
		if fi, err := os.Lstat(dir); err == nil && fi.IsDir() {
			g.modes[dir] = fi.Mode().Perm()
		}
	}
	for _, name := range []string{"HEAD", "config", "info/exclude", "info/attributes", "packed-refs", "shallow"} {
		path := filepath.Join(x.Layout.Store(), filepath.FromSlash(name))
		text, err := vfs.ReadFile(x.FS, path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		g.files[path] = text
	}
	for _, dir := range []string{x.Layout.Hankweave(), x.Layout.Events()} {
		g.names[dir] = map[string]struct{}{}
		list, err := x.FS.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range list {
			g.names[dir][e.Name()] = struct{}{}
		}
	}
	x.Monitor = g
	x.Lock.Folders.Lock()
	x.Lock.Watch = x
	x.Lock.Folders.Unlock()
	x.Saver.Disk.Lock()
	failed := x.Saver.Failed
	x.Saver.tampered = x.noticeState
	x.Saver.Failed = func(err error) {
		if !g.wasDeleted() || !errors.Is(err, fs.ErrNotExist) { // of the deletion all is said
			failed(err)
		}
	}
	x.Saver.Disk.Unlock()
	return nil
}

// ownFolders are the folders whose modes are kept, parents first.
func (x *Execution) ownFolders() []string {
	l := x.Layout
	store := l.Store()
	return []string{l.Hankweave(), l.Events(), l.Runs(), l.Index(), l.Quarantine(), l.Homes(), l.Temps(), l.Reports(), filepath.Dir(store), store,
		filepath.Join(store, "objects"), filepath.Join(store, "objects", "pack"), filepath.Join(store, "refs"), filepath.Join(store, "refs", "heads"), filepath.Join(store, "info")}
}

// notice keeps what was noticed for the record, and says it. seen is the error
// that has shown it, if one has. Behind a deletion of hank's folder everything is
// missing, perhaps again and again: that is said once.
func (x *Execution) notice(seen error, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if x.Monitor.wasDeleted() && errors.Is(seen, fs.ErrNotExist) {
		return
	}
	x.Monitor.mu.Lock()
	known := slices.Contains(x.Monitor.Found, ownFiles+what)
	if !known {
		x.Monitor.Found = append(x.Monitor.Found, ownFiles+what)
	}
	x.Monitor.mu.Unlock()
	if !known {
		x.Opts.Warn("warning: " + ownFiles + what)
	}
}

func (x *Execution) noticeState(err error) { x.notice(err, "state.json (%v); it is written anew", err) }

// Noticed returns what was noticed since it was last asked.
func (x *Execution) Noticed() []string {
	if x.Monitor == nil {
		return nil
	}
	x.Monitor.mu.Lock()
	defer x.Monitor.mu.Unlock()
	found := x.Monitor.Found
	x.Monitor.Found = nil
	return found[:min(len(found), MaxNotes)]
}

// mendJournal begins the journal anew, from the state in memory, if somebody
// else has changed it. What the old one still holds goes to quarantine.
func (x *Execution) mendJournal() error {
	if x.Monitor == nil || x.Held() != nil { // a folder that is lost is another matter: see append
		return nil
	}
	x.mendModes(x.Layout.Hankweave(), x.Layout.Events())
	why := x.Journal.Changed()
	if why == nil {
		return nil
	}
	x.notice(why, "the journal (%v); it begins anew from what is in memory, what was left of it is in quarantine", why)
	_ = x.Journal.Close() // it cannot be used any more
	err := x.undeleted(func() error { return x.beginJournal(why) })
	if err != nil {
		x.Broken = err
	}
	return err
}

func (x *Execution) beginJournal(why error) error {
	if err := x.ClearWay(); err != nil {
		return err
	}
	if _, err := x.FS.Lstat(x.Layout.Events()); err == nil {
		if err := x.SetAside(x.Layout.Events(), why); err != nil {
			return err
		}
	}
	if err := vfs.MkdirAll(x.FS, x.Layout.Events(), 0o700); err != nil {
		return err
	}
	base, err := x.BaseEvent(x.State(), max(x.State().Seq, x.Journal.Last())+1, "the journal was changed while a codon was at work")
	if err != nil {
		return err
	}
	begun, err := journal.Create(x.FS, x.Layout.Events(), base.Seq-1, base)
	if err != nil {
		return err
	}
	x.Journal = begun
	x.Monitor.names[x.Layout.Events()] = map[string]struct{}{filepath.Base(journalFile): {}}
	x.Saver.Ask(x.State(), x.Journal.End(), true)
	return nil
}

// journalFile is the name of the journal's current segment.
const journalFile = "events.jsonl"

// Inspect compares all that hank keeps beside git's objects with what it must
// be, and writes anew what is not so.
func (x *Execution) Inspect() error {
	if x.Monitor == nil || x.Broken != nil || x.Held() != nil { // behind what has broken it nothing is written
		return nil
	}
	return x.undeleted(x.writeAnew)
}

func (x *Execution) writeAnew() error {
	deleted := x.Monitor.wasDeleted()
	if deleted {
		if err := layout.MakeOwnFolders(x.FS, x.Layout); err != nil {
			return err
		}
	}
	x.mendModes(x.ownFolders()...)
	if err := x.mendJournal(); err != nil {
		return err
	}
	x.mendState()
	if err := errors.Join(x.MendLock(), x.MendMeta(), x.mendRuns()); err != nil {
		return err
	}
	if deleted {
		return x.NeedStore("the checkpoint store was deleted with " + layout.Dir)
	}
	return errors.Join(x.MendStore(), x.lookForFlood())
}

// mendState has state.json written anew, if somebody else has changed it, and
// tells whether somebody has.
func (x *Execution) mendState() bool {
	err := x.Saver.Changed()
	if err != nil {
		x.noticeState(err)
		x.Saver.Ask(x.State(), x.Journal.End(), true)
	}
	return err != nil
}

// mendModes gives folders the modes back that they had.
func (x *Execution) mendModes(dirs ...string) {
	for _, dir := range dirs {
		want, known := x.Monitor.modes[dir]
		fi, err := os.Lstat(dir)
		if !known || err != nil || !fi.IsDir() || fi.Mode().Perm() == want {
			continue
		}
		x.notice(nil, "the mode of %s was %04o; it is %04o again", x.Layout.Relative(dir), fi.Mode().Perm(), want)
		if err := os.Chmod(dir, want); err != nil {
			x.Opts.Warn(fmt.Sprintf("warning: %v", err)) // whatever needs the folder fails and says so
		}
	}
}

func (x *Execution) MendLock() error {
	k := x.Lock
	have, err := lock.ReadLock(x.FS, x.Layout.Lock())
	if err == nil && have.LockID == k.Info.LockID && have.PID == k.Info.PID {
		return nil
	}
	if isStarved(err) {
		return err
	}
	x.notice(err, "runtime.lock; it is written anew")
	k.Mu.Lock()
	defer k.Mu.Unlock()
	return k.WriteFirst()
}

// isStarved reports an error that says nothing about the file: this process, or
// the machine, has no descriptors or no memory left. An agent can bring that about
// (prlimit), and what is there must not be taken away for it.
func isStarved(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

func (x *Execution) MendMeta() error {
	have, err := layout.ReadMetaFile(x.FS, x.Layout.Meta())
	if isStarved(err) {
		return err
	}
	if err == nil {
		is, err1 := json.Marshal(have, json.Deterministic(true))
		want, err2 := json.Marshal(x.Metadata, json.Deterministic(true))
		if err1 == nil && err2 == nil && bytes.Equal(is, want) {
			return nil
		}
	}
	x.notice(err, "execution-meta.json; it is written anew")
	if fi, err := x.FS.Lstat(x.Layout.Meta()); err == nil {
		if err := x.SetAside(x.Layout.Meta(), fmt.Errorf("it was changed while a codon was at work (%s)", fi.Mode().Type())); err != nil {
			return err
		}
	}
	return layout.WriteMeta(x.FS, x.Layout.Meta(), x.Metadata)
}

// mendRuns makes the folder of the run at work, if it is gone: transcripts are
// in no memory.
func (x *Execution) mendRuns() error {
	r := x.State().Newest()
	if r == nil {
		return nil
	}
	folder := x.Layout.RunFolder(r.RunID)
	fi, err := os.Lstat(folder)
	if err == nil && fi.IsDir() {
		return nil
	}
	x.notice(err, "the folder of the run is gone, and with it the transcripts that were in it")
	return vfs.MkdirAll(x.FS, folder, 0o700)
}

func (x *Execution) MendStore() error {
	for path, want := range x.Monitor.files {
		have, err := vfs.ReadFile(x.FS, path)
		if want == nil || err == nil && bytes.Equal(have, want) { // stock git may make one where none was
			continue
		}
		if isStarved(err) {
			return err
		}
		if filepath.Base(path) == "packed-refs" && x.refsStand() { // stock git's gc writes it anew
			x.Monitor.files[path] = have
			continue
		}
		x.notice(err, "%s; it is written anew", x.Layout.Relative(path))
		if _, err := x.FS.Lstat(path); err == nil {
			if err := x.SetAside(path, errors.New("it was changed while a codon was at work")); err != nil {
				return err
			}
		}
		if err := vfs.MkdirAll(x.FS, filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := vfs.WriteFile(x.FS, path, want, 0o600); err != nil {
			return err
		}
	}
	for _, dir := range []string{"refs/heads", "refs/tags"} {
		if err := vfs.MkdirAll(x.FS, filepath.Join(x.Layout.Store(), filepath.FromSlash(dir)), 0o700); err != nil {
			return err
		}
	}
	return x.mendRefs()
}

// refsStand reports whether every reference leads where it led.
func (x *Execution) refsStand() bool {
	have, damaged, err := x.Store.ReadableRefs("refs/")
	if err != nil || len(damaged) > 0 {
		return false
	}
	for ref, want := range x.Monitor.refs {
		if have[ref] != want {
			return false
		}
	}
	return true
}

// mendRefs puts back what a reference led to.
func (x *Execution) mendRefs() error {
	have, damaged, err := x.Store.ReadableRefs("refs/")
	if err != nil {
		return err
	}
	if len(damaged) > 0 {
		x.notice(nil, "%d files among the references are none (the first: %s); they are in quarantine", len(damaged), filepath.Base(damaged[0].Path))
		for _, d := range damaged {
			if err := x.SetAside(d.Path, d); err != nil {
				return err
			}
		}
		if have, err = x.Store.Refs("refs/"); err != nil {
			return err
		}
	}
	for ref, want := range x.Monitor.refs {
		if have[ref] == want {
			continue
		}
		x.notice(nil, "%s led to %.12s; it leads to %.12s again", ref, orNone(have[ref]), want)
		if err := x.Store.SetRef(ref, have[ref], want); err != nil {
			return err
		}
	}
	return nil
}

func orNone(sha checkpoint.SHA) string {
	if sha == "" {
		return "nothing"
	}
	return string(sha)
}

// lookForFlood names what is in hank's folders and not hank's. It stays where it
// is: it harms nothing, and is not hank's to delete.
func (x *Execution) lookForFlood() error {
	for dir, known := range x.Monitor.names {
		list, err := x.FS.ReadDir(dir)
		if err != nil {
			return err
		}
		var strange []string
		for _, e := range list {
			if _, ok := known[e.Name()]; !ok && !x.isOwnName(dir, e.Name()) {
				known[e.Name()] = struct{}{} // it is said once
				strange = append(strange, e.Name())
			}
		}
		if len(strange) > 0 {
			x.notice(nil, "%s in %s that hank has not made, such as %q; they are left alone, remove them", Things(len(strange)), x.Layout.Relative(dir), strange[0])
		}
	}
	return nil
}

func Things(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// isOwnName tells whether hank may have made an entry of one of its folders
// since the run began.
func (x *Execution) isOwnName(dir, name string) bool {
	if dir == x.Layout.Events() {
		return strings.HasPrefix(name, "events")
	}
	l := x.Layout
	return slices.ContainsFunc([]string{l.State(), l.Lock(), l.Meta(), l.Events(), l.Runs(), filepath.Dir(l.Store()), l.Index(), l.Quarantine(),
		l.Reports(), l.Homes(), l.Temps(), l.Manifest(), l.Socket()}, func(own string) bool {
		return strings.HasPrefix(name, filepath.Base(own))
	})
}
