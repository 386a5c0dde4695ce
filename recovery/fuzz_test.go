package recovery

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
)

// Whatever a commit says, reading its record does not fail badly, and what is
// read can be written again.
func FuzzReadRecord(f *testing.F) {
	good, err := githistory.Message(githistory.Title{Status: state.KindCompleted, CodonID: "a", RunID: "1-aaaaa", Name: "Do a"}, state.At(time.UnixMilli(1)), githistory.Record{Schema: 1, Lineage: "l", Seq: 7,
		Event: must(state.Encode(state.CheckpointCreated{Kind: state.KindRecovery, Branch: "recovery/x"}))(f)})
	ok(f, err)
	for _, seed := range []string{"", good, "x\n\n" + githistory.RecordTrailer, "x\n\n" + githistory.RecordTrailer + "{}\n", "x\n\n" + githistory.RecordTrailer + `{"schema":2}` + "\n" + githistory.RecordTrailer + "{}", good + good,
		"x\n" + githistory.RecordTrailer + `{"schema":1,"seq":-1}`, "x\n" + githistory.RecordTrailer + `{"schema":1,"event":{"transition":{"type":"CodonTransitioned","data":{"record":null}}}}`,
		"x\n" + githistory.RecordTrailer + `{"schema":1,"run":null,"event":{"transition":{"type":"RunStarted","data":{}}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, found, err := githistory.ReadRecord(checkpoint.Info{Message: text})
		var newer *state.NewerError
		if err != nil && !errors.As(err, &newer) {
			t.Fatalf("an error that nobody expects: %v", err)
		}
		if !found {
			return
		}
		if r.Schema > state.SchemaVersion {
			t.Fatalf("a record of schema %d was read", r.Schema)
		}
		r.IsRecovery()
		transition, err := r.Transition("0123456789012345678901234567890123456789")
		if err == nil {
			// It must not break what is rebuilt from it, either.
			s := state.Rebuild(&state.State{}, []state.Evidence{{Seq: r.Seq, Run: r.Run, Transition: transition}})
			if _, err := s.Marshal(); err != nil {
				t.Logf("not written: %v", err)
			}
		}
	})
}

// A record comes back from its message, whatever names and texts are in it,
// and the first line is one line that names the checkpoint.
func TestARecordComesBackFromItsMessage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\n" + githistory.RecordTrailer + "{}", "a\r\nb", "\x00", "\u2028", strings.Repeat("é", 200)}))
		clean := func(s string) string { return strings.ToValidUTF8(s, "?") }
		note := clean(text.Draw(t, "note"))
		title := githistory.Title{Status: state.KindManual, CodonID: "c", RunID: "1-aaaaa", Name: text.Draw(t, "name")}
		event, err := state.Encode(state.CheckpointCreated{Kind: state.KindManual, Branch: "b", Note: note})
		if err != nil {
			t.Fatal(err)
		}
		want := githistory.Record{Schema: 1, Lineage: "l", Seq: rapid.Uint64().Draw(t, "seq"), HankHash: "h", Event: event,
			Run: &state.Run{RunID: "1-aaaaa", Note: note, Labels: map[string]string{"k": note}, Status: state.StatusRunning}}
		msg, err := githistory.Message(title, state.At(time.UnixMilli(rapid.Int64Range(0, 1<<41).Draw(t, "at"))), want)
		if err != nil {
			t.Fatal(err)
		}
		first, rest, _ := strings.Cut(msg, "\n")
		if !strings.HasPrefix(first, "manual:c [run:1-aaaaa]") || !strings.HasPrefix(rest, "\n") || !utf8.ValidString(first) || len([]rune(first)) > 120 {
			t.Fatalf("the first line is %q", first)
		}
		if !strings.HasPrefix(rest, "\nCodon: c\nStatus: manual\nTimestamp: ") {
			t.Fatalf("the lines of the reference are not in %q", rest)
		}
		got, found, err := githistory.ReadRecord(checkpoint.Info{Message: msg})
		if err != nil || !found {
			t.Fatalf("not found: %v in %q", err, msg)
		}
		a, errA := json.Marshal(want)
		b, errB := json.Marshal(got)
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Fatalf("%s\n%s\n%v %v", a, b, errA, errB)
		}
	})
}

// The files that only explain never keep an execution from being opened. A
// Hankweave's lock of a process that may live decides: it knows no other.
func FuzzMetaAndLockDecideNothing(f *testing.F) {
	root := f.TempDir()
	want := told(f, history(f, root, 12, CreateOptions{}).close())
	b := pack(f, root, want)
	for _, seed := range []string{"", "{}", "null", "[]", "{\"version\":", "\x00\x00", `{"pid":1,"lockId":"x","process":{"pid":1}}`, `{"version":"9","lineage":"","root":"relative"}`, string(b.files[b.l.Meta()]),
		`{"version":"1.2.0","createdAt":7}`, "00", "-7", `{"pid":0,"lastHeartbeat":"2026-01-01T00:00:00Z"}`, `{"version":"1.2.0","linkType":"symlink"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		// A meta that can be read may name another workspace or other data;
		// what is asked here is about those that say nothing of the kind.
		var m layout.Meta
		named := json.Unmarshal(text, &m) == nil && (m.Workspace != "" || m.ReadOnlySourceDataPath != "" || m.Root != "" && m.Root != root)
		b.t = t
		b.reset()
		put(t, b.l.Lock(), text)
		if h, err := lock.ReadLock(vfs.OS, b.l.Lock()); err == nil && h.PID > 0 && (&View{Layout: b.l, fs: vfs.OS}).heldByHankweave() {
			t.Skip("a Hankweave may be at work")
		}
		if !named {
			put(t, b.l.Meta(), text)
		}
		v, err := Read(root)
		if err != nil || told(t, v.State) != want {
			t.Fatalf("a reader: %v", err)
		}
		x, err := Open(context.Background(), root, execution.Options{FS: fast})
		var held *lock.HeldError
		if errors.As(err, &held) && !named && m.Version != "" && !m.Ours() { // Hankweave's, it seems: do as it says
			remove(t, b.l.Lock())
			x, err = Open(context.Background(), root, execution.Options{FS: fast})
		}
		ok(t, err)
		if told(t, x.State()) != want {
			t.Fatal(differences(want, told(t, x.State())))
		}
		ok(t, x.Close())
		if _, err := os.Stat(filepath.Join(b.l.Hankweave(), "runtime.lock")); err == nil {
			t.Fatal("the lock file is left")
		}
		if _, err := layout.ReadMetaFile(vfs.OS, b.l.Meta()); err != nil {
			t.Fatal(err)
		}
	})
}
