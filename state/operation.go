package state

import "github.com/go-json-experiment/json/jsontext"

// Operation is what a command does whose caller has given it an id, so that the same
// command with the same id is not carried out twice. It is recorded with the act
// itself: in the run that it begins, or in the intent of the move that it makes.
type Operation struct {
	ID        string `json:"id"`
	Command   string `json:"command"`   // run, resume, retry, rollback, undo, restore, skip, or the verb of a gate's answer
	Arguments string `json:"arguments"` // digest of what else was asked for; they may hold secrets
	Time      Time   `json:"time"`
	// Answered: the answer is complete, and nothing of the operation is left to be done.
	Answered bool   `json:"answered,omitzero"`
	ExitCode int    `json:"exitCode,omitzero"`
	Answer   string `json:"answer,omitempty"` // what --json prints, as text
	// Safety is the safety checkpoint of its move.
	Safety SHA `json:"safety,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// Same reports whether two operations ask for the same.
func (o *Operation) Same(other *Operation) bool {
	return o.Command == other.Command && o.Arguments == other.Arguments
}

func (o *Operation) redact(change func(string) string) *Operation {
	if o == nil {
		return nil
	}
	next := *o
	next.Answer = change(o.Answer)
	return &next
}
