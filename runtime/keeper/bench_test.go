//go:build unix

package keeper

import (
	"os"
	"testing"
)

// What a codon pays for being contained: from Start to Wait of a command that
// does nothing.
func BenchmarkStartToWait(b *testing.B) {
	spec := Spec{Args: []string{"true"}, Env: os.Environ(), Dir: b.TempDir(), Attempt: "benchmark"}
	for b.Loop() {
		p, err := Start(spec, Streams{})
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := p.Wait(); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
}
