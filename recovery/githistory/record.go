package githistory

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/checkpoint"
	"hank/state"
)

// Record is what every checkpoint carries in its message: enough to append the
// event that acknowledges it, or to rebuild the history from git alone.
type Record struct {
	Schema   int            `json:"schema"`
	Lineage  string         `json:"lineage"`
	Seq      uint64         `json:"seq"` // the journal's number for Event
	Run      *state.Run     `json:"run,omitempty"`
	Program  state.SHA      `json:"program,omitempty"`
	HankHash string         `json:"hankHash,omitempty"` // of Program
	Limits   state.Limits   `json:"limits,omitzero"`    // right before Event; from schema 2 on, absent means none
	Event    jsontext.Value `json:"event"`              // of state.TransitionEvent, its checkpoint left empty
	State    jsontext.Value `json:"state,omitempty"`    // right before Event, where no record tells of what came before
	LeftOut  []string       `json:"leftOut,omitempty"`  // of the initial checkpoint: files for secrets that are in none
}

// RecordTrailer begins the line of a commit's message that has the Record.
const RecordTrailer = "Hank-Record: "

// Title names a checkpoint in the first line of its message.
type Title struct {
	Status  state.CheckpointKind
	CodonID state.CodonID
	RunID   state.RunID
	Name    string
}

// Message returns the text of a checkpoint's commit:
//
//	<status>:<codonId> [run:<runId>] <name>
//
//	Codon: <codonId>
//	Status: <status>
//	Timestamp: <ISO 8601>
//	Hank-Record: <Record as one line of JSON>
func Message(t Title, at state.Time, r Record) (string, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encoding the record of %s:%s: %w", t.Status, t.CodonID, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%s", t.Status, t.CodonID)
	if t.RunID != "" {
		fmt.Fprintf(&b, " [run:%s]", t.RunID)
	}
	if name := clean(t.Name); name != "" {
		b.WriteString(" " + name)
	}
	b.WriteString("\n\n")
	if t.CodonID != "" {
		fmt.Fprintf(&b, "Codon: %s\n", t.CodonID)
	}
	stamp, err := at.MarshalJSON()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "Status: %s\nTimestamp: %s\n%s%s\n", t.Status, strings.Trim(string(stamp), `"`), RecordTrailer, line)
	return b.String(), nil
}

// clean makes a name fit into one line of at most 80 letters.
func clean(name string) string {
	name = strings.Join(strings.FieldsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if letters := []rune(name); len(letters) > 80 {
		name = string(letters[:79]) + "…"
	}
	return name
}

// ReadRecord returns the record of a commit; found is false if it has none
// that can be read. The error is a *state.NewerError: there is one, and this
// hank is too old for it.
func ReadRecord(info checkpoint.Info) (r Record, found bool, err error) {
	at := strings.LastIndex(info.Message, "\n"+RecordTrailer)
	if at < 0 {
		return Record{}, false, nil
	}
	line, _, _ := strings.Cut(info.Message[at+1+len(RecordTrailer):], "\n")
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal([]byte(line), &version); err != nil {
		return Record{}, false, nil
	}
	if version.Schema > state.SchemaVersion {
		return Record{}, false, &state.NewerError{Schema: version.Schema}
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return Record{}, false, nil
	}
	return r, true, nil
}

// IsRecovery reports whether the record is of a checkpoint that was made for a
// recovery branch.
func (r Record) IsRecovery() bool {
	t, err := state.Decode(r.Event)
	c, ok := t.(state.CheckpointCreated)
	return err == nil && ok && c.Kind == state.KindRecovery
}

// branch is the branch that the record's checkpoint was made for; empty if it
// does not say.
func (r Record) branch() string {
	t, err := state.Decode(r.Event)
	if err != nil {
		return ""
	}
	switch t := t.(type) {
	case state.InitialCheckpointSet:
		return "main"
	case state.BranchesRemoved:
		return state.RemovedBranch
	case state.CheckpointCreated:
		return t.Branch
	case state.CodonTransitioned:
		if r.Run != nil {
			return r.Run.GitBranch
		}
	}
	return ""
}

// Transition returns the record's event with its checkpoint filled in.
func (r Record) Transition(sha state.SHA) (state.Transition, error) {
	t, err := state.Decode(r.Event)
	if err != nil {
		return nil, err
	}
	return WithCheckpoint(t, sha)
}

// WithCheckpoint fills the place of the commit in a transition that carries
// one. A commit cannot name itself, so its record leaves the place empty.
func WithCheckpoint(t state.Transition, sha state.SHA) (state.Transition, error) {
	switch t := t.(type) {
	case state.InitialCheckpointSet:
		t.SHA = sha
		return t, nil
	case state.CheckpointCreated:
		t.SHA = sha
		return t, nil
	case state.BranchesRemoved:
		t.SHA = sha
		return t, nil
	case state.CodonTransitioned:
		if t.Record == nil {
			return nil, errors.New("the transition of a codon has no record")
		}
		record := *t.Record
		switch record.Status {
		case state.Starting:
			record.RigSetupCheckpoint = sha
		case state.Completed:
			record.CompletionCheckpoint = sha
		case state.Failed:
			record.ErrorCheckpoint = sha
		case state.Skipped:
			record.SkipCheckpoint = sha
		default:
			return nil, fmt.Errorf("a codon that is %s has no checkpoint", record.Status)
		}
		t.Record = &record
		return t, nil
	}
	return nil, fmt.Errorf("%s has no checkpoint", t.Type())
}
