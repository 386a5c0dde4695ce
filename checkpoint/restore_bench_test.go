//go:build unix

package checkpoint

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/storage/memory"
	"golang.org/x/sys/unix"
)

// BenchmarkRestore5000Of50000 goes to and fro between two trees of 50,000
// files of 4 KB that differ in 5,000 and reports what stock git's "reset
// --hard" takes for the same, in turn: git-ns/op, and the ratio.
func BenchmarkRestore5000Of50000(b *testing.B) {
	from, to := layout{}, layout{}
	for i := range 50_000 {
		path := fmt.Sprintf("d%02d/e%02d/f%05d", i%50, i/50%20, i)
		from[path] = file(fmt.Sprintf("%d\n", i) + strings.Repeat("some line of text\n", 220))
	}
	maps.Copy(to, from)
	for i := range 5_000 {
		path := fmt.Sprintf("d%02d/e%02d/f%05d", i*10%50, i*10/50%20, i*10)
		switch i % 10 {
		case 0:
			delete(to, path)
			to[path+"new"] = file("new")
		default:
			to[path] = leaf{filemode.Regular, from[path].data + "changed\n"}
		}
	}
	root, repo := b.TempDir(), b.TempDir()
	layDown(b, root, from)
	git(b, repo, nil, "init", "-q")
	var commits [2]string
	for i, l := range []layout{from, to} {
		git(b, repo, nil, "rm", "-rfq", "--ignore-unmatch", ".")
		layDown(b, repo, l)
		git(b, repo, nil, "add", "-A")
		git(b, repo, nil, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x")
		commits[i] = strings.TrimSpace(string(git(b, repo, nil, "rev-parse", "HEAD")))
	}
	git(b, repo, nil, "repack", "-adq")
	git(b, repo, nil, "reset", "-q", "--hard", commits[0])
	ws := openWS(b, root)
	defer ws.Close()
	st := memory.NewStorage()
	trees := [2]SHA{putTree(b, st, from), putTree(b, st, to)}
	unix.Sync() // what the preparations wrote is nobody's cost
	var gits time.Duration
	i := 0
	for b.Loop() {
		now, next := i%2, (i+1)%2
		report, err := Restore(b.Context(), RestoreRequest{Store: st, Workspace: ws, From: trees[now], To: trees[next], Removable: anything})
		must(b, err)
		if n := len(report.Plan.Add) + len(report.Plan.Change); n != 5000 {
			b.Fatalf("wrote %d files", n)
		}
		b.StopTimer()
		start := time.Now()
		git(b, repo, nil, "reset", "-q", "--hard", commits[next])
		gits += time.Since(start)
		unix.Sync() // git leaves its files unwritten, and the restore's sync takes all
		i++
		b.StartTimer()
	}
	b.ReportMetric(float64(gits.Nanoseconds())/float64(i), "git-ns/op")
	b.ReportMetric(float64(b.Elapsed())/float64(gits), "ratio")
}
