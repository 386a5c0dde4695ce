package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Entry is one step of the plan: a codon, or a codon in one iteration of a
// loop.
type Entry struct {
	Codon       *Codon         `json:"codon"`   // always the codon itself, never the loop; shared, never changed; not nil
	CodonID     CodonID        `json:"codonId"` // unique in the plan: the codon's id, or review#0
	LoopContext *LoopContext   `json:"loopContext,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

// entryFields is Entry without its methods.
type entryFields Entry

// UnmarshalJSONFrom reads an entry; one without codon gets an empty one.
func (e *Entry) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	f := entryFields{Codon: new(Codon)}
	if err := json.UnmarshalDecode(d, &f); err != nil {
		return err
	}
	if f.Codon == nil { // null
		f.Codon = new(Codon)
	}
	*e = Entry(f)
	return nil
}

// LoopContext says where in a loop an entry is.
type LoopContext struct {
	LoopID           CodonID        `json:"loopId"`
	Iteration        int            `json:"iteration"`        // from 0
	CodonIndexInLoop int            `json:"codonIndexInLoop"` // from 0
	LoopBudget       *Budget        `json:"loopBudget,omitzero"`
	LoopGate         *Gate          `json:"loopGate,omitzero"`
	ProgressFile     string         `json:"progressFile,omitzero"` // hank's addition: relative to the workspace; empty: nobody asks for one
	Unknown          jsontext.Value `json:",embed"`
}

// IterationID is the id of a loop's codon in one iteration: review#0.
func IterationID(id CodonID, iteration int) CodonID {
	return id + "#" + CodonID(strconv.Itoa(iteration))
}

// sameIteration reports whether two entries belong to the same iteration of the
// same loop.
func (e Entry) sameIteration(o Entry) bool {
	return e.LoopContext != nil && o.LoopContext != nil &&
		e.LoopContext.LoopID == o.LoopContext.LoopID && e.LoopContext.Iteration == o.LoopContext.Iteration
}

// longestFileName is the length above which SafeFileName shortens. File
// systems take 255 bytes; a run number and an extension must fit after.
const longestFileName = 200

// SafeFileName turns an id into a file name, different ids into different
// names. Ids that hank.json allows, and iterations of them, stay as they are.
// Every byte that is not a letter, a digit or one of ._-# is written as %XX,
// and so is a dot or dash at the start and a dot at the end, so that no name is
// hidden, looks like an option or leads out of a directory. A name that gets too
// long ends in %~ and the SHA-256 of the id.
func SafeFileName(id CodonID) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		edge := c == '.' && (i == 0 || i == len(id)-1) || c == '-' && i == 0
		plain := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("._-#", c) >= 0
		if plain && !edge {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	name := b.String()
	switch {
	case name == "":
		return "%"
	case len(name) > longestFileName:
		sum := sha256.Sum256([]byte(id))
		return name[:100] + "%~" + hex.EncodeToString(sum[:])
	}
	return name
}
