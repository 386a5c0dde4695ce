//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/internal/short"
)

// TestWhatIsNextIsWhatRunsNext kills a loop where its transitions are acknowledged: where its first and its
// last iteration end, and, with HANK_LONG, at each. What hank plan, hank status and hank run --dry-run name as
// the next codon is then the one that the next run begins with.
func TestWhatIsNextIsWhatRunsNext(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, c := range map[string]struct {
		loop string // how it ends
		at   []int  // transitions: the first of a#0 is the fourth
	}{
		"limit":   {`"terminateOn": {"type": "iterationLimit", "limit": 3}`, []int{9, 10, 11, 26}},
		"verdict": {`"terminateOn": {"type": "command", "until": "test $HANK_ITERATION = 2", "limit": 5}`, []int{10, 11, 12}},
		"budget":  {`"budget": {"maxDollars": 0.5}, "terminateOn": {"type": "iterationLimit", "limit": 3}`, []int{10, 18}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, codon := t.TempDir(), `{"id": "%[1]s", "name": "%[1]s", "model": "shell", "continuationMode": "fresh", "promptText": "echo $HANK_CODON >>../trail; echo '::hank usage {\"costUSD\":0.3}'"}`
			hank := `{"hank": [{"type": "loop", "id": "l", "name": "l", ` + c.loop + `, "codons": [` + fmt.Sprintf(codon, "a") + `]}, ` + fmt.Sprintf(codon, "c") + `]}`
			if err := os.WriteFile(filepath.Join(dir, "hank.json"), []byte(hank), 0o600); err != nil {
				t.Fatal(err)
			}
			said := func(failpoint string, args ...string) ([]byte, error) {
				cmd := exec.Command("hank", args...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "HANK_STATE_DIR="+filepath.Join(dir, "registry"), "HANK_UNATTENDED=", "HANK_FAILPOINT="+failpoint)
				return cmd.Output()
			}
			for n := 3; n < 100; n++ { // before the third there is no run
				if os.Getenv("HANK_LONG") == "" && !slices.Contains(c.at, n) {
					continue
				}
				x := fmt.Sprint("x", n)
				if _, err := said(fmt.Sprint("transition.acknowledged:", n), "run", "hank.json", "-e", x); err == nil {
					break // it was not killed
				}
				trail := func() []string {
					text, _ := os.ReadFile(filepath.Join(dir, x, "trail"))
					return strings.Fields(string(text))
				}
				ran, named, decided := len(trail()), map[string]string{}, true
				for _, args := range [][]string{{"plan"}, {"status"}, {"run", "--dry-run"}} {
					out, err := said("", append(args, "-e", x, "--json")...)
					var told struct {
						Next    *string  `json:"nextCodonId"`
						Remarks []string `json:"remarks"`
						Codons  []struct {
							ID     string `json:"codonId"`
							Action string `json:"action"`
						} `json:"codons"`
					}
					if json.Unmarshal(out, &told) != nil {
						t.Errorf("hank %v: %v: %s", args, err, out)
					}
					id := ""
					if told.Next != nil {
						id = *told.Next
					}
					for _, e := range told.Codons {
						if id == "" && e.Action != "" && e.Action != "finished" && e.Action != "not run" {
							id = e.ID
						}
					}
					named[strings.Join(args, " ")] = id
					decided = decided && !slices.ContainsFunc(told.Remarks, func(r string) bool { return strings.Contains(r, "is decided first") })
				}
				if _, err := said("", "run", "-e", x); err != nil {
					t.Errorf("killed at transition %d it does not continue: %v", n, err)
				}
				first := ""
				if after := trail(); len(after) > ran {
					first = after[ran]
				}
				for by, id := range named {
					if decided && id != first {
						t.Errorf("killed at transition %d: the next codon was %q, and hank %s had named %q", n, first, by, id)
					}
				}
			}
		})
	}
}
