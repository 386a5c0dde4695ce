package state

import "github.com/go-json-experiment/json/jsontext"

// Limits are what the user allows the whole execution to use, all runs and all
// lineage paths together, beside what its hank allows. The lower one holds. What is
// 0 is not limited.
type Limits struct {
	MaxDollars     USD            `json:"maxDollars,omitzero"`
	MaxTimeSeconds float64        `json:"maxTimeSeconds,omitzero"`
	Unknown        jsontext.Value `json:",embed"`
}

// Any reports whether anything is limited.
func (l Limits) Any() bool { return l.MaxDollars > 0 || l.MaxTimeSeconds > 0 }
