//go:build unix

package runtime

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/internal/short"
	"hank/runtime/exitcode"
	"hank/state"
)

// The long form is scripts/prove kill.
var (
	killCount = flag.Int("kill.n", 16, "how often TestKilledAnywhere kills one execution")
	killSeed  = flag.Uint64("kill.seed", 1, "seed of TestKilledAnywhere")
)

// points are the named failpoints by protocol, with how far to go at most: the
// n-th passage of a life kills it. Those that only some lives pass say which.
var points = []struct {
	names []string
	most  int
	when  func(p howFar) bool
}{
	{[]string{"scan.walked"}, 5, always},
	{[]string{"pack.written", "pack.renamed", "pack.indexed"}, 4, always},
	{[]string{"ref.locked", "ref.written", "ref.renamed"}, 4, always},
	{[]string{"checkpoint.packed", "checkpoint.referenced"}, 4, always},
	{[]string{"journal.appended", "journal.synced", "transition.acknowledged"}, 16, always},
	{[]string{"snapshot.backedup", "snapshot.written", "snapshot.renamed"}, 5, always},
	{[]string{"move.safe", "move.intended", "move.applied"}, 1, howFar.moves},
	{[]string{"restore.started", "restore.written", "restore.renamed", "restore.deleted", "restore.synced"}, 1, howFar.moves},
	{[]string{"rig.built", "rig.placed"}, 1, func(p howFar) bool { return !p.done["inventory"] }},
	{[]string{"archive.copied", "archive.recorded", "archive.removed"}, 1, func(p howFar) bool { return p.done["api"] && !p.done["rank#0"] }},
	{[]string{"output.written"}, 5, func(p howFar) bool { return p.done["check"] }},
}

// howFar is how far an execution has come.
type howFar struct {
	done map[state.CodonID]bool
	cut  bool // its last codon was interrupted running
}

func always(howFar) bool { return true }

// moves tells that the next life begins with a restore.
func (p howFar) moves() bool { return p.cut }

// blow says when a life is to be killed.
type blow struct {
	point  string        // at a failpoint, as HANK_FAILPOINT has it; or
	events int           // after so many events,
	after  time.Duration // and so much time,
	most   int           // and in any case in the codon behind so many; or
	held   string        // when the first codon is at work, which this file holds there
}

// strike lives one life under a blow. done says that it came to its end
// unhurt; named, that the failpoint was what killed it.
func (b blow) strike(t *testing.T, o order, env ...string) (l *life, done, named bool) {
	t.Helper()
	o.Most = b.most + 1
	l = o.start(t, append(env, "HANK_FAILPOINT="+b.point)...)
	events, codons, ours := 0, 0, false
	hit := func() { l.kill(); ours = true }
	if b.point == "" && b.events == 0 && b.held == "" {
		time.Sleep(b.after)
		hit()
	}
	for words := l.next(); words != nil && !ours; words = l.next() {
		switch {
		case words[0] != "event":
			continue
		case b.held != "":
			if words[4] == string(state.Running) {
				within(t, time.Minute, "a codon at work", func() bool { _, err := os.Stat(b.held + ".reached"); return err == nil })
				hit()
			}
			continue
		}
		if events++; b.point == "" && events == b.events {
			time.Sleep(b.after)
			hit()
		}
		if words[4] == string(state.Completed) {
			codons++
		}
		if words[4] == string(state.Running) && codons >= b.most {
			time.Sleep(b.after / 4)
			hit()
		}
	}
	code, killed := l.wait()
	l.leftNothing(t)
	switch {
	case !killed && code != exitcode.Done:
		t.Fatalf("a life under %+v ended with %d:\n%s%s", b, code, &l.log, o.failures(t))
	case b.held != "" && !ours:
		t.Fatalf("no codon was held:\n%s", &l.log)
	case killed && !ours && b.point == "":
		t.Fatalf("somebody else killed it:\n%s", &l.log)
	}
	return l, !killed, killed && !ours
}

// killing is one execution that is killed again and again.
type killing struct {
	order
	rng     *rand.Rand
	counter string
	want    int // so many kills
	total   int // codons of the plan when it is grown

	kills, named int
	queue        []int // of points
	acked        map[state.CodonID]int
	saved        bool
	log          []string
}

// TestKilledAnywhere kills one execution of the quickstart again and again
// with SIGKILL, half of the time at a named failpoint, and runs it again each
// time. In the end it must be what an undisturbed run is; what was
// acknowledged never happens twice; and after each kill journal and state.json
// agree.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	dir := t.TempDir()
	rounds := max(3, *killCount/8)
	hank, data := countingQuickstart(t, dir, rounds), slice(t, dir)

	calm := order{Execution: filepath.Join(dir, "calm"), Hank: hank, Data: data, Output: filepath.Join(dir, "calm-output")}
	calm.start(t, "COUNTER="+filepath.Join(dir, "calm-counter")).end(t, exitcode.Done)
	calm.clean(t)

	k := &killing{
		order: order{Execution: filepath.Join(dir, "killed"), Hank: hank, Data: data, Output: filepath.Join(dir, "killed-output")},
		rng:   rand.New(rand.NewPCG(*killSeed, 0)), counter: filepath.Join(dir, "counter"),
		want: *killCount, total: len(calm.fold(t).done()), acked: map[state.CodonID]int{},
	}
	defer func() {
		if t.Failed() {
			t.Logf("seed %d; the kills were:\n%s", *killSeed, strings.Join(k.log, "\n"))
		}
	}()
	for k.kills < k.want && !t.Failed() {
		k.once(t)
	}
	if t.Failed() {
		return
	}
	k.start(t, "COUNTER="+k.counter).end(t, exitcode.Done)
	k.inspect(t)
	k.clean(t)
	sameFiles(t, k.Execution, calm.Execution)
	sameFiles(t, k.Output, calm.Output)
	redone := 0
	for id, n := range starts(t, k.counter) {
		if redone += n - 1; n < 1 || k.acked[id] != n {
			t.Errorf("codon %s started %d times, %d of them before it was acknowledged", id, n, k.acked[id])
		}
	}
	if redone == 0 {
		t.Error("no kill hit a codon at work")
	}
	t.Logf("seed %d: %d kills, %d at failpoints; %d codons, %d starts of them cut off", *killSeed, k.kills, k.named, k.total, redone)
}

// once lives one life to its kill, and looks at what it leaves.
func (k *killing) once(t *testing.T) {
	t.Helper()
	b, group := k.choose(t)
	if b.held != "" {
		os.Remove(b.held + ".reached")
		put(t, "", b.held, "")
	}
	began := time.Now()
	l, done, named := b.strike(t, k.order, "COUNTER="+k.counter)
	if b.held != "" {
		os.Remove(b.held)
	}
	if done {
		t.Fatalf("the hank was done after %d of %d kills:\n%s", k.kills, k.want, &l.log)
	}
	k.kills++
	what := fmt.Sprintf("%d events and %s", b.events, b.after)
	switch {
	case b.held != "":
		what = "a codon at work"
	case named:
		k.named++
		what = b.point
	case b.point != "":
		k.queue = append(k.queue, group) // not reached: its turn comes again
		what = b.point + " (not reached)"
	}
	finished := k.inspect(t)
	k.log = append(k.log, fmt.Sprintf("%2d. %s, after %s: %d of %d codons", k.kills, what, time.Since(began).Round(time.Millisecond), finished, k.total))
	if t.Failed() {
		t.Logf("the life that was killed:\n%s", &l.log)
	}
}

// choose draws the next blow. The codons done in a life are bounded so that
// the last kill comes before the last codon.
func (k *killing) choose(t *testing.T) (b blow, group int) {
	p := k.progress(t)
	b.most = max(0, min((k.total-1)*(k.kills+1)/k.want-len(p.done), 2))
	b.after = time.Duration(k.rng.IntN(40)) * time.Millisecond
	if k.kills%8 == 4 { // however slow the machine is, some hit a codon at work
		b.held = k.counter + ".hold"
		return b, 0
	}
	if 2*k.named <= k.kills {
		passes := func(i int) bool { return points[i].when(p) }
		if !slices.ContainsFunc(k.queue, passes) { // some wait for what never comes again
			k.queue = append(k.queue, k.rng.Perm(len(points))...)
		}
		at := slices.IndexFunc(k.queue, passes)
		group = k.queue[at]
		k.queue = slices.Delete(k.queue, at, at+1)
		names := points[group].names
		b.point = fmt.Sprintf("%s:%d", names[k.rng.IntN(len(names))], 1+k.rng.IntN(points[group].most))
		return b, group
	}
	b.events = k.rng.IntN(24)
	return b, 0
}

// progress reads the journal.
func (k *killing) progress(t *testing.T) (p howFar) {
	t.Helper()
	f := k.fold(t)
	if f == nil {
		return p
	}
	p.done = f.done()
	if r := f.state.Newest(); r != nil && r.Len() > 0 {
		last := r.Codon(r.Len() - 1)
		p.cut = last.Interrupted != "" || !last.Status.Terminal() && last.Settling == nil
	}
	return p
}

// inspect is the independent reader. It returns how many codons are done.
func (k *killing) inspect(t *testing.T) int {
	t.Helper()
	f := k.fold(t)
	if f == nil {
		return 0
	}
	there := k.compareSaved(t, f)
	if k.saved && there == 0 {
		t.Error("state.json and its backup were there, and are gone")
	}
	k.saved = k.saved || there > 0
	count := starts(t, k.counter)
	for id := range f.done() {
		if before, known := k.acked[id]; known && before != count[id] {
			t.Errorf("codon %s was acknowledged after %d starts, and has %d now", id, before, count[id])
		}
		k.acked[id] = count[id]
	}
	for id := range k.acked {
		if !f.done()[id] {
			t.Errorf("codon %s was acknowledged, and the journal does not know it any more", id)
		}
	}
	return len(f.done())
}

// countingQuickstart copies the quickstart; each script first adds a line to
// the file that COUNTER names, and waits while there is COUNTER.hold.
func countingQuickstart(t *testing.T, dir string, rounds int) string {
	t.Helper()
	hank := filepath.Join(dir, "hank")
	if err := os.CopyFS(hank, os.DirFS("../fixtures/quickstart")); err != nil {
		t.Fatal(err)
	}
	scripts, _ := filepath.Glob(filepath.Join(hank, "prompts", "*.sh"))
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		counted := "echo \"start $HANK_CODON\" >>\"$COUNTER\"\n" +
			"while [ -e \"$COUNTER.hold\" ]; do : >\"$COUNTER.hold.reached\"; sleep 0.05; done\n" + string(text)
		if err := os.WriteFile(name, []byte(counted), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(hank, "hank.json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	longer := strings.Replace(string(text), `"limit": 3`, fmt.Sprintf(`"limit": %d`, rounds), 1)
	if len(scripts) < 6 || rounds != 3 && longer == string(text) {
		t.Fatal("the quickstart is not as this test knows it")
	}
	if err := os.WriteFile(name, []byte(longer), 0o644); err != nil {
		t.Fatal(err)
	}
	return hank
}

// slice copies a few packages of the standard library.
func slice(t *testing.T, dir string) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	for _, pkg := range []string{"sort", "errors", "image", "net/url"} {
		src := os.DirFS(filepath.Join(strings.TrimSpace(string(root)), "src", pkg))
		names, err := fs.Glob(src, "*.go")
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %d files", pkg, err, len(names))
		}
		names = slices.DeleteFunc(names, func(n string) bool { return strings.HasSuffix(n, "_test.go") })
		for _, name := range names {
			text, err := fs.ReadFile(src, name)
			if err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(data, pkg, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return data
}
