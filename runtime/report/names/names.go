// Package names lists the names that can be typed on a command line about an execution:
// targets, codons, runs, types of events.
//
// It is for completion, which happens at every press of a key: it reads the state and the
// newest events, no store and no workspace, takes no lock and writes nothing.
package names

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"hank/recovery"
	"hank/runtime/history"
	"hank/state"
)

// Of lists the names of a kind, by the word that stands for it in help texts. What
// cannot be read has none.
func Of(root, kind string) []string {
	v, err := recovery.Read(root)
	if err != nil {
		return nil
	}
	switch kind {
	case "TARGET":
		return history.TargetNames(v.State)
	case "CODON":
		return history.CodonNames(v.State)
	case "RUN":
		return runs(v.State)
	case "TYPE":
		return types(v.Layout.Events())
	}
	return nil
}

func runs(s *state.State) []string {
	var all []string
	for _, r := range s.Runs {
		all = append(all, string(r.RunID))
	}
	return all
}

// mostRead is how much of the newest events is looked at, in bytes.
const mostRead = 1 << 18

// types are those of the newest events of a journal, and of their transitions.
func types(dir string) []string {
	segments, _ := filepath.Glob(filepath.Join(dir, "*"))
	slices.Sort(segments)
	found := map[string]bool{}
	for _, name := range slices.Backward(segments[max(0, len(segments)-2):]) {
		for line := range bytes.Lines(tail(name)) {
			var event struct {
				Type string `json:"type"`
				Data struct {
					TransitionType string `json:"transitionType"`
				} `json:"data"`
			}
			if json.Unmarshal(line, &event) == nil {
				found[event.Type], found[event.Data.TransitionType] = true, true
			}
		}
	}
	var all []string
	for name := range found {
		if name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// tail is the end of a file.
func tail(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil
	} else if fi.Size() > mostRead {
		_, _ = f.Seek(-mostRead, io.SeekEnd) // its first line is cut, and no event
	}
	text, _ := io.ReadAll(io.LimitReader(f, mostRead))
	return text
}
