//go:build unix

package runtime

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hank/internal/built"
	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
)

// The long form is scripts/prove verbs.
var (
	verbsCount = flag.Int("verbs.n", 9, "how often parts of a run are killed: each of nine once")
	verbsEach  = flag.Int("verbs.each", 2, "how often TestVerbsKilledAnywhere kills each verb")
	verbsSeed  = flag.Uint64("verbs.seed", 1, "seed of TestVerbsKilledAnywhere")
)

// binary is the program itself, as people have it, built once.
var binary = sync.OnceValues(func() (string, error) {
	return built.Hank(filepath.Join(os.Getenv("HANK_STATE_DIR"), "bin"))
})

// storied is a hank of six codons once its loop is laid out: files of all
// kinds come, change and go; some are ignored, some archived.
const storied = `{"meta": {"name": "Storied", "version": "1.0.0"}, "hank": [
  {"id": "make", "name": "Make", "model": "shell", "continuationMode": "fresh",
   "promptText": "@set -eu\nmkdir -p src/deep\nfor i in 1 2 3 4 5 6 7 8 9; do echo $i >src/$i.txt; done\necho '#!/bin/sh' >src/run.sh; chmod +x src/run.sh; ln -s src/1.txt link\necho '*.log' >.gitignore; echo noise >made.log\n"},
  {"type": "loop", "id": "turn", "name": "Turn", "terminateOn": {"type": "iterationLimit", "limit": 2}, "codons": [
    {"id": "edit", "name": "Edit", "model": "shell", "continuationMode": "fresh",
     "promptText": "@set -eu\necho edited $HANK_ITERATION >>src/1.txt; echo $HANK_ITERATION >src/deep/$HANK_ITERATION.txt; rm -f src/$((HANK_ITERATION + 2)).txt\n"},
    {"id": "swap", "name": "Swap", "model": "shell", "continuationMode": "fresh", "archiveOnSuccess": ["draft*"],
     "promptText": "@set -eu\necho draft >draft$HANK_ITERATION; rm -f link; ln -s src/$((HANK_ITERATION + 5)).txt link; chmod -x src/run.sh; mkdir -p d$HANK_ITERATION; echo x >d$HANK_ITERATION/x\n"}
  ]},
  {"id": "close", "name": "Close", "model": "shell", "continuationMode": "fresh", "promptText": "@cat src/*.txt >sum.txt; chmod +x src/run.sh; rm -rf d0\n"}
]}`

// lane is one execution of a hank that is done, on which one command after the
// other is killed. Whatever was killed, the next command must finish it or
// find nothing done, and the execution must come to the same end again.
type lane struct {
	order
	t       *testing.T
	rng     *rand.Rand
	binary  string
	counter string
	dir     string

	end  map[string]string            // the workspace when the hank is completed
	at   map[string]map[string]string // and when it was rolled back to a target
	took map[string]time.Duration     // what a command takes

	blind  bool // the journal was begun anew, and does not know all attempts
	unborn bool // there may be no execution yet

	want                 int // so many kills
	kills, named, missed int
	log                  []string
}

// command is one that is killed: in half of the tries at a failpoint, else at a
// random moment of its life.
type verb struct {
	name   string
	points []string // names, with how far to go at most
	try    func(l *lane, v verb)
}

var (
	pointsOfCommits = []string{"scan.walked:3", "pack.written:2", "pack.renamed:2", "pack.indexed:2", "ref.locked:3", "ref.written:3", "ref.renamed:3",
		"checkpoint.packed:2", "checkpoint.referenced:2", "journal.appended:3", "journal.synced:3", "transition.acknowledged:3", "snapshot.backedup:1", "snapshot.written:2", "snapshot.renamed:2"}
	pointsOfMoves = []string{"move.safe:1", "move.intended:1", "restore.started:1", "restore.written:3", "restore.staged:1", "restore.aside:2", "restore.filled:1", "restore.renamed:6", "restore.deleted:3", "restore.synced:1", "move.applied:1"}
	pointsOfRuns  = []string{"run.foldered:1", "plan.done:1", "run.ended:1", "archive.copied:2", "archive.recorded:2", "archive.removed:1"}
	pointsOfGC    = []string{"gc.acknowledged:1", "gc.unreferenced:3", "gc.collected:1", "collect.exchanged:1", "merge.removed:1", "pack.written:2", "pack.indexed:2", "ref.written:3", "ref.renamed:3", "journal.synced:1", "transition.acknowledged:1"}
)

var verbs = []verb{
	{"rollback", slices.Concat(pointsOfCommits, pointsOfMoves), (*lane).rollback},
	{"retry", slices.Concat(pointsOfCommits, pointsOfMoves, pointsOfRuns), (*lane).retry},
	{"restore", slices.Concat(pointsOfCommits, pointsOfMoves), (*lane).restore},
	{"gc", pointsOfGC, (*lane).gc},
	{"doctor", slices.Concat(pointsOfCommits[:len(pointsOfCommits)-3], []string{"move.applied:1", "restore.synced:1", "restore.renamed:2", "snapshot.written:1", "snapshot.renamed:1"}), (*lane).doctor},
	{"export", nil, (*lane).export},
	{"import", slices.Concat(pointsOfCommits, pointsOfMoves), (*lane).importing},
}

// TestVerbsKilledAnywhere kills every command that changes something, of the real
// program, at random moments and at failpoints.
func TestVerbsKilledAnywhere(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	lanes := make([]*lane, len(verbs))
	t.Run("verb", func(t *testing.T) {
		for i, v := range verbs {
			t.Run(v.name, func(t *testing.T) {
				t.Parallel()
				lanes[i] = newLane(t, program, storied, uint64(i))
				lanes[i].want = *verbsEach
				lanes[i].killOften(v)
			})
		}
	})
	kills, named := 0, 0
	for _, l := range lanes {
		if l != nil {
			kills, named = kills+l.kills, named+l.named
		}
	}
	t.Logf("seed %d: %d kills of %d verbs, %d at failpoints", *verbsSeed, kills, len(verbs), named)
}

// nearlyOver reports whether the time of a test is about to be over: what was done
// by then counts, and another seed continues.
func nearlyOver(t *testing.T) bool {
	end, limited := t.Deadline()
	return limited && time.Until(end) < 2*time.Minute
}

func (l *lane) killOften(v verb) {
	defer l.tell()
	for l.kills < l.want && !l.t.Failed() && !nearlyOver(l.t) {
		if l.missed > 20+2*l.want {
			l.t.Fatalf("%d tries did not kill it, and %d did; this test looks at nothing", l.missed, l.kills)
		}
		v.try(l, v)
	}
}

// newLane brings an execution to its end.
func newLane(t *testing.T, program, hank string, stream uint64) *lane {
	t.Helper()
	dir := t.TempDir()
	l := &lane{order: order{Execution: filepath.Join(dir, "x"), Hank: filepath.Join(dir, "hank.json")}, t: t, dir: dir,
		rng: rand.New(rand.NewPCG(*verbsSeed, stream)), binary: program, want: *verbsCount, counter: filepath.Join(dir, "counter"),
		at: map[string]map[string]string{}, took: map[string]time.Duration{}}
	counted := strings.ReplaceAll(hank, `"@`, `"echo \"$HANK_CODON $HANK_ATTEMPT\" >>\"$COUNTER\"\n`)
	if counted == hank {
		t.Fatal("the hank counts nothing")
	}
	put(t, dir, "hank.json", counted)
	l.must(exitcode.Done, "run", l.Hank)
	l.end = files(t, l.layout().Workspace)
	if len(l.end) < 5 {
		t.Fatalf("the hank makes only %d files", len(l.end))
	}
	return l
}

// start starts the program on this execution.
func (l *lane) start(env []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	l.t.Helper()
	cmd, out := exec.Command(l.binary, args...), &bytes.Buffer{}
	if args[0] != "checkpoints" || args[1] != "import" {
		cmd.Args = append(cmd.Args, "-e", l.Execution)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.dir, out, out
	cmd.Env = append(os.Environ(), "COUNTER="+l.counter, "HANK_STATE_DIR="+filepath.Join(l.dir, "registry"))
	cmd.Env = append(cmd.Env, env...)
	cmd.WaitDelay = time.Minute // somebody who outlives it may hold its output
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

// do runs a command to its end and returns its code.
func (l *lane) do(args ...string) (exitcode.Code, string) {
	l.t.Helper()
	began := time.Now()
	cmd, out := l.start(nil, args...)
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		l.t.Fatalf("hank %v: %v\n%s", args, err, out)
	}
	l.took[args[0]] = time.Since(began)
	code := exitcode.Code(cmd.ProcessState.ExitCode())
	l.log = append(l.log, fmt.Sprintf("     hank %s: %d", strings.Join(args, " "), code))
	return code, out.String()
}

// must is do with the code that is wanted.
func (l *lane) must(want exitcode.Code, args ...string) string {
	l.t.Helper()
	code, out := l.do(args...)
	if code != want {
		l.t.Fatalf("hank %s ended with %d, want %d:\n%s", strings.Join(args, " "), code, want, out)
	}
	return out
}

// strike runs a command and kills it. It reports whether it came to that; a
// command that was done before must have been done well.
func (l *lane) strike(v verb, args ...string) bool {
	l.t.Helper()
	var env []string
	point, wait := "", time.Duration(0)
	if len(v.points) > 0 && l.rng.IntN(2) == 0 {
		name, most, _ := strings.Cut(v.points[l.rng.IntN(len(v.points))], ":")
		point = fmt.Sprintf("%s:%d", name, 1+l.rng.IntN(int(most[0]-'0')))
		env = append(env, "HANK_FAILPOINT="+point)
	} else {
		// Its beginning is where it reads; a bit more of its life is looked at behind that.
		whole := cmp.Or(l.took[args[0]], 100*time.Millisecond)
		wait = time.Duration(l.rng.Int64N(int64(whole)))
	}
	began := time.Now()
	cmd, out := l.start(env, args...)
	if point == "" {
		time.Sleep(wait)
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait() // its error is in the state
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	killed := status.Signaled() && status.Signal() == syscall.SIGKILL
	what := cmp.Or(point, wait.Round(time.Millisecond).String())
	switch {
	case killed && point != "":
		l.named++
		fallthrough
	case killed:
		l.kills++
		l.log = append(l.log, fmt.Sprintf("%3d. hank %s: killed at %s", l.kills, strings.Join(args, " "), what))
		if !l.unborn {
			l.survey()
		}
	default:
		l.missed++
		l.took[args[0]] = time.Since(began)
		l.log = append(l.log, fmt.Sprintf("     hank %s: done before %s", strings.Join(args, " "), what))
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			l.t.Fatalf("hank %s ended with %d:\n%s", strings.Join(args, " "), code, out)
		}
	}
	return killed
}

// survey reads what a kill has left, as anybody would: journal and state.json
// agree, nothing is lost, nothing is shown that is not so, and nothing that
// was acknowledged began again.
func (l *lane) survey() {
	l.t.Helper()
	f := l.fold(l.t)
	if f != nil {
		l.compareSaved(l.t, f)
	}
	if f != nil && !l.blind {
		for _, again := range f.again {
			l.t.Error(again)
		}
		l.attempts(f)
	}
	view, err := recovery.Read(l.Execution)
	if err != nil {
		l.t.Fatalf("a reader says: %v", err)
	}
	if view.Live || view.Report.Has(finding.Lost) || view.Report.Has(finding.Blocked) {
		l.t.Errorf("a reader finds (live: %v): %v", view.Live, view.Report.Findings)
	}
}

// attempts compares the outside counter with the journal: no agent began that
// the journal does not know, and none twice.
func (l *lane) attempts(f *folded) {
	l.t.Helper()
	text, err := os.ReadFile(l.counter)
	if err != nil {
		l.t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if seen[line] {
			l.t.Errorf("an agent began twice: %s", line)
		}
		seen[line] = true
		if _, attempt, _ := strings.Cut(line, " "); !f.attempts[attempt] {
			l.t.Errorf("the journal does not know of an agent that began: %s", line)
		}
	}
}

// rest checks all that must hold when nothing is under way.
func (l *lane) rest() {
	l.t.Helper()
	l.survey()
	l.sound(l.t)
	if l.t.Failed() {
		l.t.FailNow()
	}
}

// wants checks the workspace.
func (l *lane) wants(what string, want map[string]string) {
	l.t.Helper()
	if got := l.tree(); !maps.Equal(got, want) {
		l.t.Fatalf("%s: the workspace is not as it must be: %s", what, difference(got, want))
	}
}

func (l *lane) tree() map[string]string { return files(l.t, l.layout().Workspace) }

// toEnd runs the hank on to its end, which is always the same.
func (l *lane) toEnd() {
	l.t.Helper()
	l.must(exitcode.Done, "run")
	l.wants("at the end", l.end)
	l.rest()
	l.clean(l.t)
}

func (l *lane) pick(names ...string) string { return names[l.rng.IntN(len(names))] }

var targets = []string{"initial", "make", "edit#0", "swap#0", "edit#1", "swap#1"}

func (l *lane) rollback(v verb) {
	to := targets[l.rng.IntN(len(targets))]
	back := []string{"rollback", "--to", to, "--yes"}
	// Undisturbed first. Where the beginning is depends on what runs have recorded since,
	// such as an ignored file that an earlier rollback has uncovered.
	if l.at[to] == nil || to == "initial" {
		l.must(exitcode.Done, back...)
		l.at[to] = l.tree()
		l.must(exitcode.Done, "rollback", "--undo", "--yes")
		l.wants("taken back from "+to, l.end)
	}
	l.strike(v, back...)
	switch l.rng.IntN(3) {
	case 0: // the same again
		l.must(exitcode.Done, back...)
		l.wants("gone back to "+to, l.at[to])
		l.rest()
	case 1: // run continues from there, or finds nothing to do
	case 2: // finished or not begun, and undone, under another blow
		l.must(exitcode.Done, "doctor", "--fix")
		if l.standsAt(to) {
			l.strike(v, "rollback", "--undo", "--yes")
			l.must(exitcode.Done, "doctor", "--fix")
			if l.standsAt(to) {
				l.must(exitcode.Done, "rollback", "--undo", "--yes")
			}
		}
		l.wants("taken back", l.end)
	}
	l.toEnd()
}

// standsAt reports whether the execution stands at a target; if not, it is where
// it was, at the end.
func (l *lane) standsAt(to string) bool {
	l.t.Helper()
	l.rest()
	now := l.tree()
	if maps.Equal(now, l.end) {
		return false
	}
	if !maps.Equal(now, l.at[to]) {
		l.t.Fatalf("between the end and %s: %s", to, difference(now, l.at[to]))
	}
	return true
}

func (l *lane) retry(v verb) {
	l.strike(v, "retry", l.pick("make", "edit#0", "swap#0", "edit#1", "swap#1", "close"))
	for l.rng.IntN(2) == 0 && l.kills < l.want {
		l.strike(v, "run")
	}
	l.toEnd()
}

func (l *lane) restore(v verb) {
	from := l.pick("edit#0", "swap#0", "edit#1", "swap#1")
	paths := [][]string{{"src"}, {"src/1.txt", "link"}, {"link", "src/deep"}, {"."}}[l.rng.IntN(4)]
	args := slices.Concat([]string{"restore"}, paths, []string{"--from", from, "--yes"})
	key := strings.Join(args, " ")
	if l.at[key] == nil {
		l.must(exitcode.Done, args...)
		l.at[key] = l.tree()
		l.must(exitcode.Done, "rollback", "--to", "last-success", "--yes")
		l.wants("brought back", l.end)
	}
	l.strike(v, args...)
	if l.rng.IntN(2) == 0 {
		// The hank is done. Where the restore was, too, its files are no results of the
		// hank's any more, and doctor asks about them.
		if code, out := l.do("doctor", "--fix"); code != exitcode.Done && code != exitcode.Decision {
			l.t.Fatalf("hank doctor --fix ended with %d:\n%s", code, out)
		}
		l.rest()
		if now := l.tree(); !maps.Equal(now, l.end) && !maps.Equal(now, l.at[key]) {
			l.t.Fatalf("half of it came back: %s", difference(now, l.at[key]))
		}
	}
	l.must(exitcode.Done, args...)
	l.wants(key, l.at[key])
	l.rest()
	l.must(exitcode.Done, "rollback", "--to", "last-success", "--yes")
	l.toEnd()
}

func (l *lane) gc(v verb) {
	for range 2 { // recovery branches, and once in a while a lineage path
		l.must(exitcode.Done, "rollback", "--to", l.pick(targets...), "--yes")
		if l.rng.IntN(3) == 0 {
			l.must(exitcode.Done, "run")
		} else {
			l.must(exitcode.Done, "rollback", "--undo", "--yes")
		}
	}
	for range 3 {
		l.strike(v, "gc", "--apply", "--older-than", "0s")
	}
	l.must(exitcode.Done, "gc", "--apply", "--older-than", "0s")
	if lost := l.git("fsck", "--strict", "--full", "--no-progress", "--unreachable"); lost != "" {
		l.t.Fatalf("what nothing leads to is still there: %s", lost)
	}
	l.must(exitcode.Done, "rollback", "--undo", "--yes") // what that needs has stayed
	l.must(exitcode.Done, "rollback", "--undo", "--yes")
	l.toEnd()
}

// git asks stock git.
func (l *lane) git(args ...string) string {
	l.t.Helper()
	out, err := exec.Command("git", append([]string{"--git-dir=" + l.layout().Store()}, args...)...).CombinedOutput()
	if err != nil {
		l.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// doctor mends damage, with a move or a run interrupted besides, and is killed.
func (l *lane) doctor(v verb) {
	cut := verb{points: []string{"move.intended:1", "restore.renamed:2", "checkpoint.referenced:1", "checkpoint.referenced:2", "journal.synced:2", "ref.renamed:2"}}
	to := l.pick(targets...)
	if l.rng.IntN(2) == 0 {
		l.must(exitcode.Done, "rollback", "--to", to, "--yes")
		l.strike(cut, "run")
	} else {
		l.strike(cut, "rollback", "--to", to, "--yes")
	}
	lay := l.layout()
	for _, name := range [][]string{{}, {lay.State()}, {lay.State() + ".bak"}, {lay.State(), lay.State() + ".bak"}, {lay.Index()}, {lay.Lock(), lay.State()}}[l.rng.IntN(6)] {
		l.log = append(l.log, "     rm "+name)
		if err := os.RemoveAll(name); err != nil {
			l.t.Fatal(err)
		}
	}
	for range 1 + l.rng.IntN(2) {
		l.strike(v, "doctor", "--fix")
	}
	l.must(exitcode.Done, "doctor", "--fix")
	l.rest()
	l.toEnd()
}

func (l *lane) export(v verb) {
	remote := filepath.Join(l.dir, "remote.git")
	args := []string{"checkpoints", "export", remote}
	l.strike(v, args...)
	if _, err := os.Stat(remote); err == nil {
		l.fsckOf(remote)
	}
	l.must(exitcode.Done, args...)
	l.fsckOf(remote)
	mine := l.git("for-each-ref", "--format=%(objectname)", "refs/heads")
	theirs, err := exec.Command("git", "--git-dir="+remote, "for-each-ref", "--format=%(objectname)").CombinedOutput()
	if err != nil {
		l.t.Fatalf("%v: %s", err, theirs)
	}
	for sha := range strings.Lines(mine) {
		if sha = strings.TrimSpace(sha); !strings.Contains(string(theirs), sha) {
			l.t.Fatalf("the export has no %s", sha)
		}
	}
	if err := os.RemoveAll(remote); err != nil {
		l.t.Fatal(err)
	}
	if l.rng.IntN(4) == 0 { // something new to export
		l.must(exitcode.Done, "rollback", "--to", l.pick(targets...), "--yes")
		l.must(exitcode.Done, "rollback", "--undo", "--yes")
	}
	l.rest()
}

func (l *lane) fsckOf(repository string) {
	l.t.Helper()
	out, err := exec.Command("git", "--git-dir="+repository, "fsck", "--strict", "--full", "--no-dangling").CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil || text != "" && !strings.HasPrefix(text, "notice: ") {
		l.t.Fatalf("git fsck of %s: %v %s", repository, err, out)
	}
}

// importing imports into an execution that is not there yet.
func (l *lane) importing(v verb) {
	remote := filepath.Join(l.dir, "remote.git")
	if _, err := os.Stat(remote); err != nil {
		l.must(exitcode.Done, "checkpoints", "export", remote)
	}
	original := l.order
	defer func() { l.order = original }()
	l.Execution = filepath.Join(l.dir, fmt.Sprintf("y%d", l.kills+l.missed))
	args := []string{"checkpoints", "import", remote, "-e", l.Execution}
	l.blind, l.unborn = true, true
	for range 1 + l.rng.IntN(2) {
		l.strike(v, args...)
	}
	l.must(exitcode.Done, args...)
	delete(l.end, "made.log") // ignored, and so in no checkpoint
	l.wants("imported", l.end)
	l.rest()
	if out := l.must(exitcode.Done, "status"); !strings.Contains(out, "completed") {
		l.t.Fatalf("the import stands at:\n%s", out)
	}
	l.toEnd()
	if err := os.RemoveAll(l.Execution); err != nil {
		l.t.Fatal(err)
	}
}
