//go:build unix

package modeltest

import (
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
)

// A foretold is what a dry run has said of a command that was given next.
type foretold struct {
	asks    bool   // it asks something first, and ends with 4
	code    int    // with which it ends before it runs anything; 0: it runs, or has nothing to do
	first   string // the codon that it runs first; empty: none
	open    bool   // a verdict comes before that
	message string // why it runs nothing
	text    string
}

// foretell asks what a command would do. It is no operation: whatever it says, nothing may
// have changed, which the checks after the operation see. With other answers it is asked again.
func (l *lane) foretell(args ...string) *foretold {
	l.t.Helper()
	var plain []string
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--op-id": // a dry run has none
			i++
		case "--json", "--yes":
		default:
			plain = append(plain, args[i])
		}
	}
	cmd := exec.Command(l.binary, append(plain, "--dry-run", "--json")...)
	cmd.Dir, cmd.Env = l.x(), l.environ()
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.must(err)
	}
	var said struct {
		ExitCode int
		Message  string
		Remarks  []string
		Codons   []struct{ CodonID, Action string }
		Next     *string `json:"nextCodonId"`
		Asks     *struct{ What string }
	}
	if err := json.Unmarshal(out, &said); err != nil {
		l.fatalf("hank %v --dry-run --json: %v\n%s%s", plain, err, out, errorOutput(err))
	}
	told := &foretold{asks: said.Asks != nil, code: cmd.ProcessState.ExitCode(), message: said.Message, text: string(out)}
	if said.Codons != nil { // of a run
		if told.code != said.ExitCode {
			l.fatalf("hank %v --dry-run ends with %d, and says %d:\n%s", plain, told.code, said.ExitCode, out)
		}
		told.asks = told.code == 4
		for _, c := range slices.Backward(said.Codons) {
			if c.Action != "finished" && c.Action != "not run" {
				told.first = c.CodonID
			}
		}
	} else if said.Next != nil {
		told.first = *said.Next
	}
	told.open = slices.ContainsFunc(said.Remarks, func(r string) bool { return strings.Contains(r, "is decided first") })
	return told
}

// cameTrue looks whether a command has done what its dry run has said.
func (l *lane) cameTrue(told *foretold, r result, starts []start) {
	l.t.Helper()
	first := ""
	if len(starts) > 0 {
		first = starts[0].codon
	}
	switch {
	case told.asks != (r.code == 4):
	case told.asks:
		return
	case told.code != 0 && (told.code != r.code || first != ""):
	case told.open:
		return
	case told.code == 0 && told.message != "" && first == "" && r.code == 7 && strings.Contains(told.message, "gate"): // it has moved the workspace before
		return
	case told.code == 0 && told.message != "" && (r.code != 0 || first != ""):
	case told.code == 0 && told.first != first:
	default:
		return
	}
	l.fatalf("the dry run has said otherwise: the command ended with %d, and codon %q was the first:\n%s\n%s", r.code, first, r.out, told.text)
}

// moves makes a move that was previewed, and compares what has changed with what the preview
// has shown.
func (l *lane) moves(args ...string) {
	l.t.Helper()
	var told struct{ Add, Change, Delete, MakeDirs []struct{ Path string } }
	l.ask(&told, append(slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--yes" }), "--dry-run")...)
	was, err := readTree(l.workspace())
	l.must(err)
	l.want(0, l.errand(args...)...)
	is, err := readTree(l.workspace())
	l.must(err)
	shown := map[string]string{}
	for what, list := range map[string][]struct{ Path string }{"added": told.Add, "changed": told.Change, "deleted": told.Delete} {
		for _, p := range list {
			shown[p.Path] = what
		}
	}
	for _, p := range allPaths(was, is) {
		before, after, what := was.nodes[p], is.nodes[p], ""
		switch there, then := before.kind != "" && before.kind != "folder", after.kind != "" && after.kind != "folder"; {
		case there && then && before != after:
			what = "changed"
		case there && !then:
			what = "deleted"
		case then && !there:
			what = "added"
		}
		if shown[p] != what {
			l.fatalf("hank %v: the preview has shown that %s is %q, and it was %q: %v, then %v", args, p, shown[p], what, before, after)
		}
		delete(shown, p)
	}
	for p, what := range shown {
		l.fatalf("hank %v: the preview has shown that %s is %s, and nothing is there before and after", args, p, what)
	}
	for _, d := range told.MakeDirs {
		if !is.has(strings.TrimSuffix(d.Path, "/")) {
			l.fatalf("hank %v: the preview has shown that directory %s is made, and it is not there", args, d.Path)
		}
	}
}
