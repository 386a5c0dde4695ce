package load

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hank/internal/term"
	"hank/internal/vfs"
	"hank/recovery/finding"
	"hank/recovery/hankweave"
	"hank/recovery/layout"
	"hank/state"
	"hank/state/journal"
	"hank/state/snapshot"
)

// An execution that Hankweave began is adopted by the first command that
// writes to it. What it left is read as it is:
//
//   - state.json has none of hank's additions; state.Adopt fills them in, from
//     the branches of its store. The store itself is a git repository and goes
//     on as it is.
//   - Its journal has lines without numbers and checksums. It is no damage: the
//     whole directory is moved aside, and hank's own journal begins with the state.
//   - runtime.lock decides there, and explains here: no Hankweave holds a flock,
//     so its lock is respected while its process may live.

// adopting is why the journal of an adopted execution begins again.
const adopting = "this execution was begun by Hankweave"

// Why the journal begins with what the checkpoints tell.
const (
	FromCheckpoints = "state and journal were lost; they were rebuilt from the checkpoints" // of an import, too, by older versions
	Imported        = "imported; state and journal were made of the checkpoints"
)

// isForeign reports whether the best of the snapshots is another runtime's, in
// an execution that hank has not written to yet.
func isForeign(snaps []candidate, lineage string) bool {
	return lineage == "" && len(snaps) > 0 && snaps[0].state.Lineage == ""
}

// Result is what state.json, its backup and the journal say together.
type Result struct {
	State *state.State // nil: they say nothing
	// Lineage is the execution's own, as its meta has it; empty if the meta is
	// gone.
	Lineage string
	Source  string // who knew most: state.json, state.json.bak or journal
	Rebase  string // why the journal must begin again; empty if it need not
	OfGit   string // the same, where only git knows anything
	Last    uint64 // the last event of the journal
	High    uint64 // the highest number that was ever seen in it
	Traces  bool   // something was there once, readable or not
	// Foreign: the state is another runtime's and must be adopted. Apart: so
	// is the journal, which is set aside before hank's begins.
	Foreign, Apart bool
	// Unsaved: only the journal is there. It is worth a word, except while the
	// first save is under way.
	Unsaved bool
	// Files are state.json and its backup as they were found, and OnDisk the state
	// that is in the first; nil unless both are whole.
	Files  []StateFile
	OnDisk *state.State
	Found  *journal.Opened // nil where there is no journal of hank's
	Barred bool            // this user may not read state.json or its backup
}

// StateFile is what is known of state.json or its backup, the content left out.
type StateFile struct {
	snapshot.Candidate
	Lineage string
}

// Load reads the state from the furthest verified source and writes nothing:
//
//  1. state.json and state.json.bak count where their digests are right and
//     where they are of the journal's lineage (of that in the meta, if the
//     beginning of the journal is lost).
//  2. The journal is folded from the further of them, or, if there is none or
//     the journal begins later, from the state that the journal begins with.
//  3. Whichever is further wins. If it is a snapshot, the journal has lost its
//     end and must begin again from it.
//
// Git, the last source, is asked when the store is open. An error means that a newer
// hank was here, or that the disk cannot be read. boot is the machine's present boot.
func Load(fsys vfs.FS, l layout.Layout, lineage, boot string, rep *finding.Report) (Result, error) {
	return LoadFrom(fsys, l, lineage, boot, journal.Place{}, rep)
}

// LoadFrom is Load that verifies the journal's current segment from a place on, see KnownEnd.
func LoadFrom(fsys vfs.FS, l layout.Layout, lineage, boot string, end journal.Place, rep *finding.Report) (Result, error) {
	m := Result{Lineage: lineage, OfGit: FromCheckpoints}
	if _, err := fsys.Lstat(l.Importing()); err == nil {
		m.OfGit = Imported
	}
	snaps, err := snapshots(fsys, l, &m, rep)
	if err != nil {
		return m, err
	}
	m.Foreign, m.Apart = isForeign(snaps, lineage), hankweave.ForeignJournalIn(fsys, l)
	if why := layout.InTheWay(fsys, l.Events()); why != nil {
		m.Traces, m.Rebase = true, "the journal was gone"
		return m.takeSnapshot(sameLineage(snaps, lineage, rep), rep), nil
	}
	if paths, _ := layout.Irregular(fsys, l.Events()); len(paths) > 0 {
		m.Traces = true
	}
	if m.Apart {
		m.Traces, m.Rebase = true, "the journal is Hankweave's"
		return m.takeSnapshot(sameLineage(snaps, lineage, rep), rep), nil
	}
	found, err := layout.Inspect(fsys, l, boot, end)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m.Rebase = "the journal was gone"
		return m.takeSnapshot(sameLineage(snaps, lineage, rep), rep), nil
	case err != nil:
		return m, err
	case found.Schema > journal.Schema:
		return m, &state.NewerError{Schema: found.Schema}
	}
	m.Found = &found
	m.Last, m.High, m.Traces, m.Foreign = found.Last, found.Highest, true, false
	for _, d := range found.Damage {
		rep.Repair(finding.Mended, fmt.Sprintf("the journal is damaged (%s)", d), "the damaged part is in quarantine", "the next command puts the damaged part into quarantine")
	}
	if !found.Whole() {
		m.Rebase = "the journal was damaged"
	}
	begin, err := baseState(fsys, l, found)
	if err != nil {
		return m, err
	}
	if begin == nil {
		m.Rebase = "the beginning of the journal was lost"
		m = m.takeSnapshot(sameLineage(snaps, lineage, rep), rep)
		if m.State == nil {
			return m, nil
		}
		return m, m.replayJournal(fsys, l, rep)
	}
	if !found.Whole() {
		begin.Lineage = lineageOf(begin, snaps, cmp.Or(lineage, ofCopy(fsys, l, begin, snaps)))
	}
	m.State, m.Source = begin, "journal"
	m.Unsaved = len(snaps) == 0 && found.Last > found.Base && !m.hasFile()
	m.chooseSnapshot(sameLineage(snaps, begin.Lineage, rep), rep)
	return m, m.replayJournal(fsys, l, rep)
}

// lineageOf returns the lineage of an execution whose damaged journal begins with a state. A
// copy whose newest segment is lost has only its original's segments, which lead to the copy:
// its own lineage is that of the meta. A snapshot of the journal's lineage shows that the
// execution is no copy.
func lineageOf(begin *state.State, snaps []candidate, own string) string {
	if own == "" || slices.ContainsFunc(snaps, func(c candidate) bool { return c.state.Lineage == begin.Lineage }) {
		return begin.Lineage
	}
	return own
}

// ofCopy is the lineage of the furthest snapshot, where the meta is lost, too, and that snapshot
// began where what is left of the journal did: it is of a copy; empty if it is not.
func ofCopy(fsys vfs.FS, l layout.Layout, begin *state.State, snaps []candidate) string {
	left := Result{State: begin}
	if len(snaps) == 0 || left.replayJournal(fsys, l, &finding.Report{}) != nil {
		return ""
	}
	if s := snaps[0].state; s.InitialCheckpoint != "" && s.InitialCheckpoint == left.State.InitialCheckpoint && s.Seq > left.State.Seq {
		return s.Lineage
	}
	return ""
}

// hasFile reports whether state.json or its backup is there, in whatever state.
func (m *Result) hasFile() bool {
	return slices.ContainsFunc(m.Files, func(f StateFile) bool { return !errors.Is(f.Err, fs.ErrNotExist) })
}

// Shortened reports whether the torn end of the journal may be more than a crash
// leaves: no whole state.json says how far it went.
func (m *Result) Shortened() bool {
	return m.Found != nil && m.Found.Torn != nil && m.Source != "state.json"
}

// candidate is a state that a snapshot file holds.
type candidate struct {
	name  string
	state *state.State
}

// snapshots reads state.json and state.json.bak, the further one first. A
// backup that is whole and behind state.json is not read any further: it could
// never count.
func snapshots(fsys vfs.FS, l layout.Layout, m *Result, rep *finding.Report) ([]candidate, error) {
	var out []candidate
	store := snapshot.Store{FS: fsys, Path: l.State(), Verify: state.Verify}
	for _, c := range store.Load() {
		text := c.Data
		c.Data = nil
		lineage, seq := state.Peek(text)
		m.Files = append(m.Files, StateFile{c, lineage})
		if errors.Is(c.Err, fs.ErrNotExist) {
			continue
		}
		m.Traces = true
		name := filepath.Base(c.Path)
		if c.Err == nil && len(out) == 1 && lineage != "" && lineage == out[0].state.Lineage && seq <= out[0].state.Seq {
			m.OnDisk = out[0].state
			continue
		}
		s, err := (*state.State)(nil), c.Err
		if err == nil {
			s, err = state.UnmarshalVerified(text)
		}
		var newer *state.NewerError
		if errors.As(err, &newer) {
			return nil, newer
		}
		if errors.Is(err, fs.ErrPermission) {
			m.Barred = true
			if !rep.Reading || layout.CheckOwner(l) == nil { // else the reader says whose it is
				rep.Repair(finding.Mended, fmt.Sprintf("%s cannot be read (permission denied)", name), "it is replaced", "the next command replaces it")
			}
			continue
		}
		if err != nil {
			why := err.Error()
			var wrong *state.DamagedError
			var unread *fs.PathError
			switch { // without the path, which is the execution's
			case errors.As(err, &wrong):
				why = wrong.Why
			case errors.As(err, &unread):
				why = unread.Err.Error()
			}
			rep.Repair(finding.Mended, name+damaged+why+")", "it is rebuilt, and the original is kept in quarantine", "the next command rebuilds it, and keeps the original in quarantine")
			continue
		}
		out = append(out, candidate{name, s})
	}
	if len(out) == 1 && errors.Is(m.Files[0].Err, fs.ErrNotExist) { // a save never leaves it so
		rep.Repair(finding.Mended, "state.json is missing, and state.json.bak counts in its place", "it is written again", "the next command writes it again")
	}
	if len(out) == 2 && out[1].state.Seq > out[0].state.Seq {
		if out[1].state.Lineage == out[0].state.Lineage { // a save never leaves it so
			older, newer := out[0], out[1]
			rep.Repair(finding.Mended, fmt.Sprintf("%s is an older copy (save %d, event %d; %s is save %d, event %d) and does not count",
				older.name, older.state.Serial, older.state.Seq, newer.name, newer.state.Serial, newer.state.Seq), "it is replaced", "the next command replaces it")
		}
		out[0], out[1] = out[1], out[0]
	}
	return out, nil
}

// damaged is between the name of a snapshot and the reason why it does not count.
const damaged = " is damaged ("

// IsDamage reports whether a finding says that state.json is no state.
func IsDamage(f finding.Finding) bool { return strings.HasPrefix(f.What, "state.json"+damaged) }

// sameLineage leaves out what is of another execution. Without a lineage to go
// by, all count.
func sameLineage(snaps []candidate, lineage string, rep *finding.Report) []candidate {
	var out []candidate
	for _, c := range snaps {
		switch {
		case lineage == "" || c.state.Lineage == lineage:
			out = append(out, c)
		case c.state.Lineage == "" && strings.HasSuffix(c.name, ".bak"): // the version before hank's first
		case c.state.Lineage == "":
			rep.Add(finding.Note, "%s is from before hank continued this execution and does not count", c.name)
		default:
			rep.Add(finding.Note, "%s is of another execution (lineage %.8s, and not %.8s) and does not count", c.name, c.state.Lineage, lineage)
		}
	}
	return out
}

// takeSnapshot takes the best snapshot, as there is no journal to compare it with.
func (m Result) takeSnapshot(snaps []candidate, rep *finding.Report) Result {
	if len(snaps) > 0 {
		m.State, m.Source = snaps[0].state, snaps[0].name
	}
	switch {
	case len(snaps) == 0:
	case m.Foreign:
		m.Rebase = adopting
		rep.Add(finding.Note, "%s: it has %s, and hank continues after them; see docs/compatibility.md", adopting, term.Count(len(m.State.Runs), "run"))
	default:
		rep.Add(finding.Mended, "%s; %s knows everything up to event %d", m.Rebase, m.Source, m.State.Seq)
		if m.Source != "state.json" {
			rep.Doubt("%s is one save older than the last: what was done last, such as a rollback or an undo, it may not know", m.Source)
		}
	}
	return m
}

// baseState returns the state that the journal begins with, or nil.
func baseState(fsys vfs.FS, l layout.Layout, found journal.Opened) (*state.State, error) {
	var begin *state.State
	done := errors.New("done")
	err := journal.Read(fsys, l.Events(), found.Base, func(e journal.Event) error {
		if e.Seq != found.Base || e.Type != state.TransitionEvent {
			return done
		}
		t, err := state.Decode(e.Data)
		if err != nil {
			return err
		}
		if _, ok := t.(state.Rebased); !ok {
			return done
		}
		if begin, err = state.Apply(&state.State{}, e.Seq, t); err != nil {
			return err
		}
		return done
	})
	var gap *journal.GapError
	if errors.Is(err, done) || errors.As(err, &gap) || errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return begin, err
}

// chooseSnapshot takes the furthest snapshot, unless the state that the journal begins
// with is further.
func (m *Result) chooseSnapshot(snaps []candidate, rep *finding.Report) {
	if len(snaps) > 0 && snaps[0].state.Seq >= m.State.Seq {
		m.State, m.Source = snaps[0].state, snaps[0].name
	}
	if m.Source != "journal" && m.State.Seq > m.Last {
		m.Rebase = fmt.Sprintf("the journal ends at event %d", m.Last)
		rep.Behind = fmt.Sprintf("%s, but %s knows everything up to event %d and is used", m.Rebase, m.Source, m.State.Seq)
		rep.Add(finding.Mended, "%s", rep.Behind)
	}
}

// replayJournal applies the events of the journal that come after the state.
func (m *Result) replayJournal(fsys vfs.FS, l layout.Layout, rep *finding.Report) error {
	err := m.Found.Read(fsys, l.Events(), m.State.Seq+1, func(e journal.Event) error {
		if e.Type != state.TransitionEvent {
			return nil
		}
		t, err := state.Decode(e.Data)
		if err != nil {
			return err
		}
		next, err := state.Apply(m.State, e.Seq, t)
		if err == nil {
			m.State = next
		}
		return err
	})
	var gap *journal.GapError
	var illegal *state.IllegalMoveError
	switch {
	case errors.As(err, &gap), errors.Is(err, fs.ErrNotExist):
		return nil // Inspect has said it
	case errors.As(err, &illegal):
		m.Rebase = "the journal contradicts itself"
		rep.Add(finding.Lost, "what the journal has after event %d does not follow from what is before it (%v); it does not count, and stays in a closed segment", m.State.Seq, err)
		return nil
	}
	return err
}
