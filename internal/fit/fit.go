// Package fit compares JSON values with JSON Schemas, in tests whose program hank starts
// many times: the library for it takes longer to start than hank.
//
// The comparison is made by scripts/fits. It is of no use outside of tests.
package fit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// Case is a value and the file of its schema.
type Case struct {
	Schema string          `json:"schema"`
	Closed bool            `json:"closed"` // members that the schema does not list are errors
	Value  json.RawMessage `json:"value"`
}

// Misfits returns what is wrong with each case, by its index. A case that fits has no
// entry.
func Misfits(cases []Case) (map[int]string, error) {
	in, err := json.Marshal(cases)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "run", "hank/scripts/fits")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go run hank/scripts/fits: %w", err)
	}
	found := map[int]string{}
	return found, json.Unmarshal(out, &found)
}
