//go:build unix

package modeltest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The long form is scripts/prove model.
var (
	seeds = flag.Int("model.seeds", 4, "how many seeds TestRandomOperations plays")
	first = flag.Uint64("model.seed", 1, "its first seed")
	many  = flag.Int("model.operations", 15, "how many operations a seed has")
)

// shared is a directory for the program.
var shared string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "hank-model-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		shared = dir
		return m.Run()
	}())
}

// TestRandomOperations does random operations on an execution and on its model.
// After each, both are compared.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds: scripts/test runs it")
	}
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	var mutex sync.Mutex
	done, finished, next, counts := 0, 0, *first+uint64(*seeds), map[string]int{}
	t.Run("seeds", func(t *testing.T) {
		for i := range *seeds {
			seed := *first + uint64(i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				l := newLane(t, program, seed)
				for l.ops < *many && !nearlyOver(t) {
					l.step()
				}
				l.checkStore()
				mutex.Lock()
				defer mutex.Unlock()
				if l.ops < *many {
					next = min(next, seed)
				} else {
					finished++
				}
				done += l.ops
				for name, n := range l.counts {
					counts[name] += n
				}
			})
		}
	})
	var each []string
	for _, o := range operations {
		each = append(each, fmt.Sprintf("%s %d", o.name, counts[o.name]))
	}
	t.Logf("seed %d: %d operations, %d of %d seeds finished, go on with HANK_SEED=%d (%s)", *first, done, finished, *seeds, next, strings.Join(each, ", "))
}

// nearlyOver reports whether the time of a test is about to be over: what was done
// by then counts, and another sitting goes on with the next seed.
func nearlyOver(t *testing.T) bool {
	end, limited := t.Deadline()
	return limited && time.Until(end) < 2*time.Minute
}

// newLane makes an execution of a random hank, with a codon done.
func newLane(t *testing.T, program string, seed uint64) *lane {
	t.Helper()
	l := &lane{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), binary: program, dir: t.TempDir(), counts: map[string]int{}}
	w := []world{{}, {ignores: true}, {partial: true, ignores: true}, {partial: true}}[seed%4]
	l.m = &model{world: w, past: history{}, archived: map[string]bool{}, points: map[string]*point{}, answers: map[string]string{}}
	l.m.disk = someProgram(l.rng, w)
	for _, name := range []string{"x", "hank/rigs", "hanks"} {
		l.must(os.MkdirAll(filepath.Join(l.dir, name), 0o755))
	}
	l.must(os.WriteFile(filepath.Join(l.dir, "lib.sh"), []byte(library), 0o644))
	l.must(os.WriteFile(filepath.Join(l.dir, "hank/rigs/r"), []byte("rig\n"), 0o644))
	l.say("export MODEL=%s HANK_STATE_DIR=%s/registry; cd $MODEL/x", l.dir, l.dir)
	l.writeHank()
	l.m.at = place{tree: newTree(), clean: newTree(), frozen: slices.Clone(l.m.disk)}
	p := &passage{at: l.m.at.clone(), model: l.m}
	p.note("initial", -1)
	l.want(map[bool]int{true: 0, false: 8}[len(l.m.disk) == 1], "run", "../hank", "--stop-after", "1")
	l.goOn(p, answers{}, false)
	l.end(p, true, false)
	return l
}
