package recovery

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/repair"
	"hank/internal/short"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
	"hank/state/consistency"
)

// whole checks that everything that a branch leads to is in the store.
func whole(t testing.TB, x *execution.Execution, what string) {
	t.Helper()
	if rep := must(repair.Check(context.Background(), x.Store.DB))(t); !rep.IsComplete() {
		t.Errorf("%s: the store is not whole: %v", what, rep.Problems)
	}
}

// goesOn checks that an execution is of use: a run with a codon can be made.
func (b *box) goesOn(x *execution.Execution, n int, what string) {
	b.t.Helper()
	a := &author{t: b.t, ctx: context.Background(), x: x, program: program(b.t, n), runs: 50}
	ok(b.t, a.start())
	if s := x.State(); s.Next() < len(s.ExecutionPlan()) {
		ok(b.t, a.play(attempt{rig: true}))
	}
	ok(b.t, a.exit(state.EndStopped))
	if v := consistency.Validate(x.State(), consistency.World{}); !v.Valid {
		b.t.Errorf("%s: the state is invalid: %+v", what, v.Errors)
	}
}

// The store is gone, or its newest checkpoint cannot be read: a person must
// put it back or agree; then the execution goes on from the workspace, and
// what was known of runs and costs stays.
func TestALostStoreIsAPersonsDecision(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := boxed(t, 14)
	packs := filepath.Join(b.l.Store(), "objects", "pack")
	head := execution.Head(must(Read(b.root))(t).State)
	for name, damage := range map[string]func(){
		"deleted":        func() { remove(t, b.l.Store()) },
		"a file instead": func() { remove(t, b.l.Store()); put(t, b.l.Store(), []byte("?")) },
		"all packs deleted": func() {
			remove(t, packs)
			ok(t, os.Mkdir(packs, 0o700))
		},
		"the newest pack deleted": func() { p := packOf(t, packs, head); remove(t, p+".pack"); remove(t, p+".idx") },
		"the newest pack emptied": func() { put(t, packOf(t, packs, head)+".pack", nil) },
	} {
		b.reset()
		damage()
		workspace := hash(t, b.l.Workspace)
		before := hash(t, b.root)
		if _, err := Read(b.root); err != nil {
			t.Errorf("%s: a reader: %v", name, err)
		}
		if hash(t, b.root) != before {
			t.Errorf("%s: a reader has written", name)
		}
		_, err := Open(context.Background(), b.root, execution.Options{FS: fast})
		var decision *finding.DecisionError
		if !errors.As(err, &decision) || !strings.Contains(err.Error(), "doctor --fix") {
			t.Fatalf("%s: %v", name, err)
		}
		x := reopen(t, b.root, func(o *execution.Options) { o.ReplaceStore = true })
		if hash(t, b.l.Workspace) != workspace {
			t.Errorf("%s: the workspace was changed", name)
		}
		if !x.Report.Has(finding.Lost) {
			t.Errorf("%s: nothing is said of the loss: %+v", name, x.Report)
		}
		if cost := x.State().TotalCost(); cost == 0 || len(x.State().Runs) != 3 {
			t.Errorf("%s: runs or costs are gone", name)
		}
		ok(t, x.Close())
		x = reopen(t, b.root)
		if len(x.Report.Findings) > 0 {
			t.Errorf("%s: the next opening still finds %+v", name, x.Report.Findings)
		}
		b.goesOn(x, 14, name)
		head := x.Head()
		if _, err := x.MoveTree(context.Background(), execution.Move{Kind: "restore", To: head, Tracked: checkpoint.Selection{All: true}}); err != nil {
			t.Errorf("%s: the new checkpoint cannot be gone back to: %v", name, err)
		}
		ok(t, x.Close())
	}
}

// The newest pack has another one's content: the stat cache, which knows packs by
// their names, does not vouch for what is lost.
func TestAStoreThatIsMendedDoesNotTrustItsStatCache(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := unmerged(t, 12)
	packs := filepath.Join(b.l.Store(), "objects", "pack")
	for name, text := range b.files {
		if filepath.Dir(name) != packs || filepath.Ext(name) != ".pack" {
			continue
		}
		b.reset()
		v := must(Read(b.root))(t)
		store := must(v.Store())(t)
		head := must(store.CommitInfo(checkpoint.SHA(execution.Head(v.State))))(t)
		store.Close()
		newest := packOf(t, packs, state.SHA(head.Tree)) // the pack of the files, for which the cache vouches
		other := strings.TrimSuffix(name, ".pack")
		if other == newest {
			continue
		}
		put(t, newest+".pack", text)
		put(t, newest+".idx", b.files[other+".idx"])
		what := "with the content of " + filepath.Base(name)
		var decision *finding.DecisionError
		if _, err := Open(context.Background(), b.root, execution.Options{FS: fast}); !errors.As(err, &decision) {
			t.Fatalf("%s: %v", what, err)
		}
		ok(t, reopen(t, b.root, func(o *execution.Options) { o.ReplaceStore = true }).Close())
		x := reopen(t, b.root)
		if len(x.Report.Findings) > 0 {
			t.Errorf("%s: the next opening still finds %+v", what, x.Report.Findings)
		}
		whole(t, x, what)
		b.goesOn(x, 12, what)
		ok(t, x.Close())
	}
}

// packOf returns the path, without its suffix, of the pack that has a commit or tree.
func packOf(t testing.TB, dir string, sha state.SHA) string {
	t.Helper()
	id := must(hex.DecodeString(string(sha)))(t)
	for _, idx := range must(filepath.Glob(filepath.Join(dir, "*.idx")))(t) {
		if bytes.Contains(must(os.ReadFile(idx))(t), id) {
			return strings.TrimSuffix(idx, ".idx")
		}
	}
	t.Fatalf("no pack has %s", sha)
	return ""
}

// HEAD and references are lost, and with them in turn all other memories: HEAD
// says nothing that hank does not know, and each branch comes back to the newest
// commit that says that it was made for it.
func TestWithoutReferencesTheCommitsTell(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := boxed(t, 14)
	heads := filepath.Join(b.l.Store(), "refs", "heads")
	headFile := filepath.Join(b.l.Store(), "HEAD")
	for name, damage := range map[string]func(){
		"HEAD deleted":  func() { remove(t, headFile) },
		"HEAD zeroed":   func() { put(t, headFile, make([]byte, 21)) },
		"HEAD cut":      func() { put(t, headFile, []byte("ref: refs/heads/ma")) },
		"HEAD a folder": func() { remove(t, headFile); ok(t, os.Mkdir(headFile, 0o700)) },
		"no reference":  func() { remove(t, heads); ok(t, os.Mkdir(heads, 0o700)) },
		"neither":       func() { remove(t, heads); ok(t, os.Mkdir(heads, 0o700)); remove(t, headFile) },
	} {
		for _, ruined := range []bool{false, true} {
			b.reset()
			damage()
			if ruined {
				for _, path := range []string{b.l.State(), b.l.State() + ".bak", b.l.Events()} {
					remove(t, path)
				}
				name += ", and no other memory"
			}
			rep := b.recovers(name)
			if strings.HasPrefix(name, "HEAD") {
				says(t, name, rep, "HEAD of the checkpoint store")
			} else {
				says(t, name, rep, "branch main is gone")
			}
			for path, want := range b.files {
				if !strings.HasPrefix(path, heads) && path != headFile || !ruined && strings.Contains(path, "recovery") {
					continue
				}
				if have, err := os.ReadFile(path); err != nil || string(have) != string(want) {
					t.Errorf("%s: %s is %q, %v, instead of %q", name, filepath.Base(path), have, err, want)
				}
			}
			fsck(t, b.l.Store(), name)
		}
	}
}

// A reference was damaged into the name of no object: it leads again to where
// the state, or its own checkpoints, have it, and nothing is called lost.
func TestAReferenceToNothingIsPutBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := boxed(t, 14)
	for path, text := range b.files {
		if !strings.HasPrefix(path, filepath.Join(b.l.Store(), "refs", "heads")) {
			continue
		}
		b.reset()
		other := slices.Clone(text)
		other[7] = map[bool]byte{true: 'a', false: 'b'}[other[7] != 'a']
		put(t, path, other)
		what := filepath.Base(path) + " to nothing"
		says(t, what, b.recovers(what), "is not there")
		if have := must(os.ReadFile(path))(t); string(have) != string(text) {
			t.Errorf("%s: it leads to %q instead of %q", what, have, text)
		}
		fsck(t, b.l.Store(), what)
	}
}

// A pack in the middle of the history is gone: the state knows all, the next
// checkpoint is whole again, and what is lost is named by a check.
func TestALostPackLosesOnlyItsOwnCheckpoints(t *testing.T) {
	t.Parallel()
	b := boxed(t, 14)
	packs := filepath.Join(b.l.Store(), "objects", "pack")
	names := must(filepath.Glob(filepath.Join(packs, "*.idx")))(t)
	for _, idx := range names {
		b.reset()
		remove(t, idx)
		remove(t, strings.TrimSuffix(idx, ".idx")+".pack")
		v := must(Read(b.root))(t)
		if told(t, v.State) != b.want {
			t.Fatalf("without %s a reader sees another state", filepath.Base(idx))
		}
		x, err := Open(context.Background(), b.root, execution.Options{FS: fast, ReplaceStore: true})
		if err != nil {
			t.Errorf("without %s: %v", filepath.Base(idx), err)
			continue
		}
		snap := must(x.Snapshot(context.Background(), checkpoint.Selection{All: true}, x.Head()))(t)
		sha := must(x.Preserve(context.Background(), snap, x.RecoveryBranch(), "", "whole again"))(t)
		tree := must(x.Tree(sha))(t)
		ok(t, x.Store.Walk(tree, func(path string, _ checkpoint.Mode, blob checkpoint.SHA) error {
			if !x.Store.Has(blob) {
				t.Errorf("without %s: a new checkpoint lacks %s", filepath.Base(idx), path)
			}
			return nil
		}))
		ok(t, x.Close())
	}
	t.Logf("%d packs", len(names))
}

// Whatever happens to a reference, its branch leads to where the state has it.
func TestADamagedReferenceIsPutBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := boxed(t, 14)
	all := must(filepath.Glob(filepath.Join(b.l.Store(), "refs", "heads", "*")))(t)
	all = slices.DeleteFunc(all, func(p string) bool {
		return filepath.Base(p) == "recovery" || filepath.Base(p) == githistory.ProgramBranch
	})
	for _, ref := range all {
		for name, text := range map[string][]byte{"emptied": {}, "zeroed": make([]byte, 41), "zeroes in hex": []byte(strings.Repeat("0", 40) + "\n"),
			"garbage": []byte("ref: refs/heads/elsewhere\n"), "cut": b.files[ref][:20]} {
			b.reset()
			put(t, ref, text)
			what := filepath.Base(ref) + " " + name
			before := hash(t, b.root)
			if v := must(Read(b.root))(t); told(t, v.State) != b.want {
				t.Errorf("%s: a reader sees another state", what)
			}
			if hash(t, b.root) != before {
				t.Errorf("%s: a reader has written", what)
			}
			x := reopen(t, b.root)
			if told(t, x.State()) != b.want || len(x.Report.Findings) == 0 {
				t.Errorf("%s: the report is %+v", what, x.Report)
			}
			whole(t, x, what)
			ok(t, x.Close())
			if have := must(os.ReadFile(ref))(t); string(have) != string(b.files[ref]) {
				t.Errorf("%s: it leads to %q now", what, have)
			}
			b.settled(what)
		}
		b.reset()
		remove(t, ref)
		says(t, "deleted "+filepath.Base(ref), b.recovers("deleted "+filepath.Base(ref)), "is gone")
	}
}

// A checkpoint whose acknowledgement a crash has cut off is acknowledged; one
// that nobody knows is kept aside.
func TestATipAheadIsRolledForwardOrKeptAside(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := begin(t, root, 12, CreateOptions{})
	ok(t, a.start())
	ok(t, a.play(attempt{}))
	ok(t, a.play(attempt{}))
	now := a.x.Now()
	ok(t, a.x.Record(state.RunFailed{RunID: a.run, EndTime: now, Reason: state.EndStopped}))
	a.settle()
	before := pack(t, root, "")
	snap := must(a.x.Snapshot(a.ctx, execution.Tracked(a.x.State(), ""), a.x.Head()))(t)
	branch := a.x.State().Run(a.run).GitBranch
	head := a.x.Head()
	sha := must(a.x.Commit(a.ctx, execution.Commit{Title: githistory.Title{Status: state.KindExit, RunID: a.run}, Snapshot: snap, Parents: []state.SHA{head}, Branch: branch,
		Transition: state.CheckpointCreated{Kind: state.KindExit, RunID: a.run, Branch: branch}}))(t)
	b := pack(t, root, told(t, a.close()))
	// As if the process had ended between the reference and the journal.
	for path := range b.files {
		if strings.HasPrefix(path, b.l.Store()) || path == b.l.Meta() {
			continue
		}
		delete(b.files, path)
		if text, there := before.files[path]; there && path != b.l.Lock() {
			b.files[path] = text
		}
	}
	b.reset()
	says(t, "a tip ahead", b.recovers("a tip ahead"), "acknowledged now")

	b.reset()
	x := reopen(t, root)
	b.want = told(t, x.State())
	impossible := must(state.Encode(state.CheckpointCreated{Kind: state.KindExit, RunID: "gone", Branch: branch, SHA: sha}))(t)
	next := must(githistory.Message(githistory.Title{Status: state.KindExit}, now, githistory.Record{Schema: state.SchemaVersion, Lineage: x.State().Lineage, Seq: x.Journal.Last() + 1, Event: impossible}))(t)
	ok(t, x.Close())
	b = pack(t, root, b.want)
	for name, message := range map[string]string{"that does not follow": next, "without a record": "by hand\n", "with a broken record": "x\n\n" + githistory.RecordTrailer + "{\"schema\":1,\n",
		"of another lineage": "x\n\n" + githistory.RecordTrailer + `{"schema":1,"lineage":"feed","seq":99999,"event":{}}` + "\n",
		"of the past":        "x\n\n" + githistory.RecordTrailer + `{"schema":1,"lineage":"` + x.State().Lineage + `","seq":3,"event":{}}` + "\n"} {
		b.reset()
		store := must(checkpoint.Open(checkpoint.Options{FS: fast, Dir: b.l.Store()}))(t)
		info := must(store.CommitInfo(checkpoint.SHA(sha)))(t)
		junk := must(store.Commit(a.ctx, checkpoint.CommitRequest{Tree: info.Tree, Parents: []checkpoint.SHA{info.SHA}, Message: message, When: time.Now()}))(t)
		ok(t, store.SetRef(githistory.Heads+branch, info.SHA, junk))
		ok(t, store.Close())
		says(t, name, b.recovers(name), "recovery branch")
		store = must(checkpoint.Open(checkpoint.Options{FS: fast, Dir: b.l.Store()}))(t)
		kept := false
		for _, tip := range must(store.Refs(githistory.Heads + "recovery/"))(t) {
			kept = kept || tip == junk
		}
		if !kept {
			t.Errorf("%s: the tip is not kept", name)
		}
		ok(t, store.Close())
	}
}

// A tip with a later number than the journal's next is no interrupted acknowledgement: the
// events between them are lost, and the history is rebuilt from the checkpoints.
func TestATipFurtherAheadIsNotRolledForward(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := begin(t, root, 12, CreateOptions{})
	ok(t, a.start())
	ok(t, a.play(attempt{}))
	s, last := a.x.State(), a.x.Journal.Last()
	branch, lineage := s.Run(a.run).GitBranch, s.Lineage
	a.close()
	store := must(checkpoint.Open(checkpoint.Options{FS: fast, Dir: layout.Layout{Root: root}.Store()}))(t)
	info := must(store.CommitInfo(must(store.Refs(githistory.Heads))(t)[githistory.Heads+branch]))(t)
	event := must(state.Encode(state.CheckpointCreated{Kind: state.KindExit, RunID: a.run, Branch: branch}))(t)
	record := githistory.Record{Schema: state.SchemaVersion, Lineage: lineage, Seq: last + 50, Event: event}
	message := must(githistory.Message(githistory.Title{Status: state.KindExit}, state.At(time.Now()), record))(t)
	tip := must(store.Commit(a.ctx, checkpoint.CommitRequest{Tree: info.Tree, Parents: []checkpoint.SHA{info.SHA}, Message: message, When: time.Now()}))(t)
	ok(t, store.SetRef(githistory.Heads+branch, info.SHA, tip))
	ok(t, store.Close())
	x := reopen(t, root)
	defer x.Close()
	if x.Report.Source != "git" || x.Journal.Last() <= last+50 {
		t.Errorf("the state is that of %s, and the journal ends at event %d: %+v", x.Report.Source, x.Journal.Last(), x.Report.Findings)
	}
}

// The references of the sessions are lost, as in a copy without them: what the codons of
// needed runs name stays when garbage is collected, and what nothing needs goes.
func TestSessionsOutliveTheirReferences(t *testing.T) {
	t.Parallel()
	a := begin(t, t.TempDir(), 6, CreateOptions{})
	ok(t, a.start())
	said := func(run state.RunID, what string) state.SHA {
		file := checkpoint.TreeFile{Path: "session", Mode: checkpoint.Regular, Open: func() (io.ReadCloser, int64, error) {
			return io.NopCloser(strings.NewReader(what)), int64(len(what)), nil
		}}
		return must(a.x.CommitApart(a.ctx, githistory.Sessions(run), what, []checkpoint.TreeFile{file}))(t)
	}
	kept, stray := said(a.run, "what a codon said"), said("run-of-nobody", "what nobody needs")
	ok(t, a.play(attempt{said: kept}))
	ok(t, a.exit(state.EndStopped))
	for _, run := range []state.RunID{a.run, "run-of-nobody"} {
		ok(t, a.x.Store.SetRef(githistory.Sessions(run), must(a.x.Store.Ref(githistory.Sessions(run)))(t), ""))
	}
	must(Collect(a.ctx, a.x))(t)
	if complete, err := a.x.Store.IsComplete(a.ctx, checkpoint.SHA(kept)); err != nil || !complete {
		t.Errorf("the session of a codon is whole: %v, %v", complete, err)
	}
	if a.x.Store.Has(checkpoint.SHA(stray)) {
		t.Error("a session that nothing needs is still there")
	}
	a.close()
}
