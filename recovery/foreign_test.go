package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
	"hank/state/journal"
)

// Copies of the memories from an earlier moment are put back, in every
// combination, as a backup program would: the furthest of the others wins, and
// if all are old, the checkpoints know what came since.
func TestAnOlderCopyPutBackLosesNothing(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	root := t.TempDir()
	a := begin(t, root, 24, CreateOptions{})
	ok(t, a.start())
	for range 6 {
		ok(t, a.play(attempt{rig: true}))
	}
	a.settle()
	old := pack(t, root, "") // as a backup program copies files, in the middle of a run
	for range 6 {
		ok(t, a.play(attempt{}))
	}
	ok(t, a.exit(state.EndStopped))
	b := pack(t, root, told(t, a.close()))
	files := []string{b.l.State(), b.l.State() + ".bak", b.journal(), b.l.Meta()}
	for set := 1; set < 1<<len(files); set++ {
		b.reset()
		var names []string
		for i, path := range files {
			if set&(1<<i) != 0 {
				put(t, path, old.files[path])
				names = append(names, filepath.Base(path))
			}
		}
		what := "older " + strings.Join(names, ", ")
		rep := b.recovers(what)
		if set&4 != 0 && len(rep.Findings) == 0 {
			t.Errorf("%s: nothing is said", what)
		}
	}
}

// The state of another execution is never taken for this one's.
func TestTheStateOfAnotherExecutionDoesNotCount(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	other := boxed(t, 12)
	b := boxed(t, 14)
	for _, gone := range [][]string{{}, {b.l.State() + ".bak"}, {b.l.Events()}, {b.l.Events(), b.l.State() + ".bak"}, {b.l.Events(), b.l.State() + ".bak", b.l.Meta()}, {b.l.Meta()}, {b.l.State() + ".bak", b.l.Meta()}} {
		b.reset()
		for _, path := range gone {
			remove(t, path)
		}
		put(t, b.l.State(), other.files[other.l.State()])
		b.recovers(fmt.Sprintf("state.json of another execution, without %v", gone))
	}
	for _, gone := range [][]string{{}, {b.l.State() + ".bak"}, {b.l.Meta()}, {b.l.State() + ".bak", b.l.Meta()}} {
		b.reset()
		for _, path := range gone {
			remove(t, path)
		}
		events := b.files[b.journal()]
		damaged := bytes.LastIndexByte(events[:len(events)*9/10], '\n') + 1
		put(t, b.journal(), append(append(bytes.Clone(events[:damaged]), 'x'), events[damaged+1:]...))
		put(t, b.l.State(), other.files[other.l.State()])
		b.recovers(fmt.Sprintf("state.json of another execution and damage in the journal, without %v", gone))
	}
}

// The further of state.json and its backup counts, whichever that is, and one that is
// only an event further than the journal counts before it.
func TestTheFurthestSourceCounts(t *testing.T) {
	t.Parallel()
	b := boxed(t, 12)
	limit := state.Limits{MaxDollars: 7 * state.Dollar}
	b.reset()
	x := reopen(t, b.root)
	ok(t, x.Record(state.LimitsSet{Limits: limit})) // no checkpoint knows it
	ok(t, x.Close())
	newest, before := must(os.ReadFile(b.l.State()))(t), b.files[b.l.State()]
	events := must(os.ReadFile(b.journal()))(t)
	last := bytes.LastIndexByte(events[:len(events)-1], '\n') + 1
	for name, put := range map[string]func(){
		"an older state.json without a journal": func() {
			put(t, b.l.State(), before)
			put(t, b.l.State()+".bak", newest)
			remove(t, b.l.Events())
		},
		"an older backup without a journal": func() {
			put(t, b.l.State(), newest)
			put(t, b.l.State()+".bak", before)
			remove(t, b.l.Events())
		},
		"a journal without its last event": func() {
			put(t, b.l.State(), newest)
			put(t, b.journal(), events[:last])
		},
		"an older state.json": func() {
			put(t, b.l.State(), before)
			put(t, b.journal(), events)
		},
	} {
		b.reset()
		put()
		if s := must(Read(b.root))(t).State; s.Limits.MaxDollars != limit.MaxDollars {
			t.Errorf("%s: a reader has %v", name, s.Limits)
		}
		x := reopen(t, b.root)
		if s := x.State(); s.Limits.MaxDollars != limit.MaxDollars {
			t.Errorf("%s: an opening has %v", name, s.Limits)
		}
		ok(t, x.Record(state.LimitsSet{}))
		ok(t, x.Close())
		if s := must(Read(b.root))(t).State; s.Limits.Any() {
			t.Errorf("%s: what was recorded then is lost: %v", name, s.Limits)
		}
	}
}

// The number of an event behind damage is never given again, though nobody knows what the
// event was.
func TestANumberBehindDamageIsNotGivenAgain(t *testing.T) {
	t.Parallel()
	b := boxed(t, 12)
	b.reset()
	x := reopen(t, b.root)
	for range 2 { // no checkpoint knows it
		ok(t, x.Record(state.LimitsSet{Limits: state.Limits{MaxDollars: state.Dollar}}))
	}
	highest := x.Journal.Last()
	ok(t, x.Close())
	events := must(os.ReadFile(b.journal()))(t)
	last := bytes.LastIndexByte(events[:len(events)-1], '\n')
	events[last-2] ^= 1 // in the event before the last
	put(t, b.journal(), events)
	remove(t, b.l.State())
	remove(t, b.l.State()+".bak")
	x = reopen(t, b.root)
	if now := x.Journal.Last(); now <= highest {
		t.Errorf("the journal continues with event %d, and had %d", now, highest)
	}
	ok(t, x.Close())
}

// An opening that ends with a question about the store has not begun to repair the
// journal: another answer may be an older copy of everything.
func TestAQuestionAboutTheStoreComesBeforeTheJournalIsHealed(t *testing.T) {
	t.Parallel()
	b := boxed(t, 12)
	for name, damage := range map[string]func(){
		"torn":    func() { put(t, b.journal(), append(bytes.Clone(b.files[b.journal()]), "torn"...)) },
		"damaged": func() { put(t, b.journal(), bytes.Replace(b.files[b.journal()], []byte(`"seq"`), []byte(`"Seq"`), 2)) },
	} {
		b.reset()
		damage()
		remove(t, b.l.Store())
		before := hash(t, b.l.Events())
		var question *finding.DecisionError
		if _, err := Open(t.Context(), b.root, execution.Options{FS: fast}); !errors.As(err, &question) {
			t.Errorf("%s: %v", name, err)
		}
		if hash(t, b.l.Events()) != before {
			t.Errorf("%s: the journal was written", name)
		}
	}
}

// What a newer hank has written stops this one, which then has written
// nothing at all.
func TestANewerSchemaStopsEverything(t *testing.T) {
	t.Parallel()
	b := boxed(t, 12)
	newer := func(text []byte, from, to string) []byte {
		changed := strings.Replace(string(text), from, to, 1)
		if changed == string(text) {
			t.Fatalf("no %q in the text", from)
		}
		return []byte(changed)
	}
	const tooNew = state.SchemaVersion + 1
	newerState := func() []byte {
		return newer(b.files[b.l.State()], fmt.Sprintf(`"schema": %d`, state.SchemaVersion), fmt.Sprintf(`"schema": %d`, tooNew))
	}
	newerGit := func() {
		store := must(checkpoint.Open(checkpoint.Options{FS: fast, Dir: b.l.Store()}))(t)
		defer store.Close()
		for ref, tip := range must(store.Refs(githistory.Heads + "run-"))(t) {
			info := must(store.CommitInfo(tip))(t)
			sha := must(store.Commit(context.Background(), checkpoint.CommitRequest{Tree: info.Tree, Parents: []checkpoint.SHA{tip},
				Message: strings.Replace(info.Message, fmt.Sprintf(`%s{"schema":%d`, githistory.RecordTrailer, state.SchemaVersion), fmt.Sprintf(`%s{"schema":%d`, githistory.RecordTrailer, tooNew), 1), When: time.Now()}))(t)
			ok(t, store.SetRef(ref, tip, sha))
			return
		}
	}
	for name, damage := range map[string]func(){
		"state.json":          func() { put(t, b.l.State(), newerState()) },
		"the backup":          func() { put(t, b.l.State()+".bak", newerState()) },
		"only state.json":     func() { remove(t, b.l.Events()); remove(t, b.l.State()+".bak"); put(t, b.l.State(), newerState()) },
		"the journal":         func() { newerJournal(t, b.l.Events()) },
		"the journal alone":   func() { remove(t, b.l.State()); remove(t, b.l.State()+".bak"); newerJournal(t, b.l.Events()) },
		"a checkpoint":        newerGit,
		"only the checkpoint": func() { newerGit(); remove(t, b.l.State()); remove(t, b.l.State()+".bak"); remove(t, b.l.Events()) },
	} {
		b.reset()
		damage()
		before := hash(t, b.l.Hankweave())
		var e *state.NewerError
		if _, err := Read(b.root); !errors.As(err, &e) || e.Schema != tooNew {
			t.Errorf("%s: a reader says %v", name, err)
		}
		if hash(t, b.l.Hankweave()) != before {
			t.Errorf("%s: a reader has written", name)
		}
		if _, err := os.Stat(b.l.Events()); err != nil {
			ok(t, os.Mkdir(b.l.Events(), 0o700)) // opening makes directories, which hold nothing
			before = hash(t, b.l.Hankweave())
		}
		e = nil
		x, err := Open(context.Background(), b.root, execution.Options{FS: fast, Fresh: true, ReplaceStore: true})
		if !errors.As(err, &e) {
			t.Errorf("%s: opening says %v", name, err)
			if err == nil {
				ok(t, x.Close())
			}
		}
		if hash(t, b.l.Hankweave()) != before {
			t.Errorf("%s: opening has written", name)
		}
	}
}

// newerJournal begins a segment with a header of the next schema, whose checksum is
// right: only the number is what stops a reader.
func newerJournal(t testing.TB, dir string) {
	t.Helper()
	path := filepath.Join(dir, "events.jsonl")
	text := must(os.ReadFile(path))(t)
	first, rest, _ := strings.Cut(string(text), "\n")
	body := strings.Replace(first[:strings.LastIndex(first, `,"sum":`)], fmt.Sprintf(`"schema":%d`, journal.Schema), fmt.Sprintf(`"schema":%d`, journal.Schema+1), 1)
	put(t, path, []byte(fmt.Sprintf("%s,\"sum\":\"%08x\"}\n%s", body, castagnoli(body), rest)))
}

func castagnoli(body string) uint32 {
	return crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli))
}

// Events of types that this hank does not know change nothing and are kept.
func TestUnknownEventsAreNoDamage(t *testing.T) {
	t.Parallel()
	b := boxed(t, 12)
	j, found, err := journal.Open(vfs.OS, b.l.Events(), func(string, io.Reader, error) error { return errors.New("damage?") })
	ok(t, err)
	for i := range 3 {
		ok(t, j.Append(journal.Event{Seq: found.Last + uint64(i) + 1, ID: "x", Timestamp: time.Now(), Type: "future.thing", Data: []byte(`{"a":[1]}`)}))
	}
	ok(t, j.Close())
	remove(t, b.l.State())
	remove(t, b.l.State()+".bak")
	b.recovers("with events of the future")
	n := 0
	ok(t, journal.Read(vfs.OS, b.l.Events(), found.Last+1, func(e journal.Event) error {
		if e.Type == "future.thing" {
			n++
		}
		return nil
	}))
	if n != 3 {
		t.Errorf("%d of 3 unknown events are left", n)
	}
}

// A state that another system wrote, without any of hank's additions, is
// adopted; its run is judged by its process id alone.
func TestARunThatIsKnownByItsPidAlone(t *testing.T) {
	t.Parallel()
	long, lately := "2020-01-01T00:00:00Z", time.Now().UTC().Format(time.RFC3339)
	for _, c := range []struct {
		name  string
		pid   int
		began string
		dead  bool
	}{{"gone", 1 << 30, lately, true}, {"alive", os.Getpid(), lately, false}, {"somebody's", 1, lately, false}, {"begun after the run", os.Getpid(), long, true}} {
		root := t.TempDir()
		l := layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}
		ok(t, os.MkdirAll(l.Hankweave(), 0o700))
		ok(t, os.MkdirAll(l.Workspace, 0o755))
		doc := map[string]any{"runs": []any{map[string]any{"runId": "1-aaaaa", "runFolder": l.RunDir("1-aaaaa"), "gitBranch": "run-1-aaaaa",
			"startingConditions": map[string]any{"type": "fresh"}, "status": "running", "startTime": c.began, "serverPid": c.pid, "codons": []any{}}},
			"currentRunId": "1-aaaaa", "executionPlan": []any{}}
		put(t, l.State(), must(json.Marshal(doc))(t))
		v := must(Read(root))(t)
		if v.Crashed(v.State.Runs[0]) != c.dead {
			t.Errorf("%s: a reader says crashed: %v", c.name, !c.dead)
		}
		x, err := Open(context.Background(), root, execution.Options{FS: fast})
		var held *lock.HeldError
		switch {
		case c.dead && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.dead:
			if r := x.State().Runs[0]; r.Status != state.StatusCrashed {
				t.Errorf("%s: the run is %s", c.name, r.Status)
			}
		case !errors.As(err, &held):
			t.Errorf("%s: opened, or %v", c.name, err)
		}
		if x != nil {
			ok(t, x.Close())
		}
	}
}

// A meta of hank's with one of its names damaged is not one of Hankweave's.
func TestADamagedMetaIsNotHankweaves(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]layout.Meta{
		"no lineage": {Version: "1", Root: "/x", Inode: "1:2"},
		"no root":    {Version: "1", Lineage: "a", Inode: "1:2"},
		"only inode": {Version: "1", Inode: "1:2"},
	} {
		if m.Foreign() {
			t.Errorf("%s: taken for Hankweave's", name)
		}
	}
	if m := (layout.Meta{Version: "1"}); !m.Foreign() {
		t.Error("Hankweave's is not taken for its own")
	}
}
