package main

import (
	"fmt"
	"slices"
	"time"

	"hank/scripts/bench/system"
)

// side is one of those that are measured in turn.
type side struct {
	name    string
	turn    func(n int) (sample, error)
	samples []sample
	// unchecked: its samples have no tree.
	unchecked bool
}

// enough is how long git's sides with equal durability are measured. A sync
// for each of 100,000 files takes minutes: fewer runs tell as much then, and
// the table says how many there were. hank's sides and git's defaults are
// always measured as often as asked for.
const enough = 3 * time.Minute

func (s *side) hadEnough() bool {
	var total time.Duration
	for _, one := range s.samples {
		total += one.elapsed
	}
	return total > enough && (s.name == gitFsyncSide || s.name == gitBatchSide)
}

// sample is one measured turn.
type sample struct {
	elapsed time.Duration
	parts   map[string]time.Duration // what took how much of it, where it is known
	tree    string                   // the git tree of the workspace afterwards
}

// The names of sides.
const (
	hankSide     = "hank"          // with every sync that its promise needs
	gitSide      = "git"           // defaults
	gitFsyncSide = "git-fsync"     // core.fsync=all, fsyncMethod=fsync
	gitBatchSide = "git-batch"     // core.fsync=all, fsyncMethod=batch
	unsyncedSide = "hank-unsynced" // all its syncs do nothing
	bareSide     = "files-alone"   // what a rollback does to files, and nothing else
)

// turns lets the sides take turns, each time beginning with the next one, so
// that none of them always finds what the one before has left in the caches.
// Before each round prepare is called; before each turn everything that is to
// be written is written, so that no side pays for another. After each round
// all sides must have the same tree. warm rounds are not counted.
func (b *bench) turns(sides []*side, warm, runs int, prepare func(n int) error) error {
	for n := range warm + runs {
		if err := prepare(n); err != nil {
			return err
		}
		want, by := "", ""
		for k := range sides {
			one := sides[(n+k)%len(sides)]
			if one.hadEnough() {
				continue
			}
			b.settle()
			s, err := one.turn(n)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			if want == "" && !one.unchecked {
				want, by = s.tree, one.name
			}
			if !one.unchecked && (s.tree == "" || s.tree != want) {
				return fmt.Errorf("the trees differ: %s has %q, %s has %q", by, want, one.name, s.tree)
			}
			if n >= warm {
				one.samples = append(one.samples, s)
			}
		}
	}
	return nil
}

// settle waits until the disk has what was written, and until what was changed
// is older than a tick of the file system's clock: else both sides would have
// to read it again the next time. The quick form does not wait for the disk.
func (b *bench) settle() {
	if !b.quick {
		system.SyncDisks()
	}
	time.Sleep(20 * time.Millisecond)
}

func median[T ~int64 | ~float64](list []T) T {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func elapsed(samples []sample) []time.Duration {
	list := make([]time.Duration, len(samples))
	for i, s := range samples {
		list[i] = s.elapsed
	}
	return list
}
