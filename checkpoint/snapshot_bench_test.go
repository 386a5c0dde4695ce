//go:build unix

package checkpoint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkCheckpointAgainstGit makes the first checkpoint of HANK_BENCH_FILES
// files (10,000 unless set), then one of 10 changed files, one of none, and
// one of 10 by a new process, and reports each beside what stock git's "add -A
// && commit" takes for the same, in milliseconds, with the ratio.
func BenchmarkCheckpointAgainstGit(b *testing.B) {
	count := 10_000
	if n, err := strconv.Atoi(os.Getenv("HANK_BENCH_FILES")); err == nil {
		count = n
	}
	for range b.N {
		benchOnce(b, count)
	}
}

func benchOnce(b *testing.B, count int) {
	r := newRig(b)
	rng := rand.New(rand.NewPCG(1, 2))
	content := func(i int) string {
		text := make([]byte, 0, 6500)
		for len(text) < 6400 {
			text = fmt.Appendf(text, "line %d of file %d\n", rng.IntN(1_000_000), i)
		}
		return string(text)
	}
	name := func(i int) string { return fmt.Sprintf("d%03d/e%02d/f%06d.txt", i%(count/100), i%7, i) }
	for i := range count {
		r.write(name(i), content(i))
	}
	repo := filepath.Join(b.TempDir(), "git")
	stock(b, "init", "-q", repo)
	git := []string{"--git-dir=" + filepath.Join(repo, ".git"), "--work-tree=" + r.ws.Path()}
	change := func() {
		for range 10 {
			i := rng.IntN(count)
			r.write(name(i), content(i))
		}
	}
	unix.Sync()
	time.Sleep(20 * time.Millisecond) // the bench's own writes are older than a clock tick
	measure := func(what string, reopen bool) {
		start := time.Now()
		if reopen {
			r.reopen()
			start = time.Now()
		}
		snap, err := r.store.Snapshot(context.Background(), SnapshotRequest{Workspace: r.ws, Selection: Selection{All: true}, Base: r.tip})
		if err != nil {
			b.Fatal(err)
		}
		scanned := time.Since(start)
		r.commit(snap)
		ours := time.Since(start)
		start = time.Now()
		stock(b, append(git, "add", "-A")...)
		stock(b, append(git, "commit", "-q", "--allow-empty", "-m", what)...)
		theirs := time.Since(start)
		b.ReportMetric(float64(ours.Microseconds())/1000, what+"-ms")
		b.ReportMetric(float64(scanned.Microseconds())/1000, what+"-scan-ms")
		b.ReportMetric(float64(theirs.Microseconds())/1000, what+"-git-ms")
		b.ReportMetric(float64(ours)/float64(theirs), what+"-ratio")
	}
	measure("first", false)
	measure("same", false)
	change()
	time.Sleep(20 * time.Millisecond)
	measure("10changed", false)
	measure("none", false)
	change()
	time.Sleep(20 * time.Millisecond)
	measure("process", true)
}
