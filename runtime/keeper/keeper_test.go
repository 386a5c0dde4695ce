//go:build unix

package keeper

import (
	"fmt"
	"os"
	"testing"
)

// The test binary is its own keeper, and plays the parts of runtimes and
// codons in which the shell is not good enough.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Verb {
		os.Exit(Main())
	}
	if len(os.Args) > 2 && os.Args[1] == "__part" {
		part, ok := parts[os.Args[2]]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such part:", os.Args[2])
			os.Exit(2)
		}
		part(os.Args[3:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var parts = map[string]func(args []string){}

func TestScratch(t *testing.T) {
	dir := t.TempDir()
	p, err := Start(Spec{Args: []string{"sh", "-c", "echo hi; setsid sleep 1000 & sleep 0.2; (setsid sh -c 'sleep 999 & ' &) ; sleep 0.1; exit 3"}, Env: os.Environ(), Dir: dir, Attempt: "x1"}, Streams{os.Stdout, os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	e, err := p.Wait()
	t.Logf("%+v %v", e, err)
}
