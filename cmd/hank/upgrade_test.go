package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hank/internal/race"
	"hank/internal/short"
)

// madeIn is where scripts/upgrade has made the executions of fixtures/upgrade.
const madeIn = "/tmp/hank-upgrade"

// upgrades are the executions that hank f4a8a27 has made, the last version of
// schema 1.
var upgrades = map[string]struct {
	verdict string   // that status gives it
	first   string   // command without which it cannot be moved; each command begins with its exit code
	then    []string // commands that bring it to its end
	work    string   // what the codon work has written then, where it is not one attempt
	rounds  string   // what the loop has written, where it is not two rounds
	undone  string   // verdict after its own last move is undone; empty: that is not tried
	hand    bool     // that undo brings an edit by hand back
	other   bool     // it does not end as the others: only the readers and the moves are tried
}{
	"created":                   {verdict: "not begun", then: []string{"0 run"}},
	"begun":                     {verdict: "crashed", then: []string{"0 run"}},
	"preparing":                 {verdict: "crashed", then: []string{"0 run"}},
	"rig-in-work":               {verdict: "crashed", then: []string{"0 run"}},
	"starting":                  {verdict: "crashed", then: []string{"0 run"}},
	"initializing":              {verdict: "crashed", other: true},
	"running":                   {verdict: "crashed", then: []string{"0 run"}},
	"completing":                {verdict: "crashed", then: []string{"0 run"}},
	"checkpoint-packed":         {verdict: "crashed", then: []string{"0 run"}},
	"checkpoint-unacknowledged": {verdict: "crashed", then: []string{"0 run"}},
	"between-codons":            {verdict: "crashed", then: []string{"0 run"}},
	"in-loop":                   {verdict: "crashed", then: []string{"0 run"}},
	"archiving":                 {verdict: "crashed", then: []string{"0 run"}},
	"journal-torn":              {verdict: "crashed", then: []string{"0 run"}},
	"snapshot-half":             {verdict: "crashed", then: []string{"0 run"}},
	"run-ended":                 {verdict: "completed", then: []string{"0 run"}},

	"completed":       {verdict: "completed", then: []string{"0 run"}},
	"outputs":         {verdict: "completed", then: []string{"0 run"}},
	"failed":          {verdict: "failed", then: []string{"1 run", "0 retry"}},
	"stopped":         {verdict: "stopped", then: []string{"0 run"}},
	"stopped-between": {verdict: "stopped", then: []string{"0 run"}},
	"interrupted":     {verdict: "stopped", then: []string{"0 run"}},
	"skipped":         {verdict: "completed", then: []string{"0 retry work"}},
	"budget-codon":    {verdict: "completed", then: []string{"0 retry work"}},
	"budget-run":      {verdict: "budget", rounds: "0\n", then: []string{"0 run"}},
	"settling":        {verdict: "paused", first: "0 run --checkpoint-cap 1GB", then: []string{"4 run", "0 run --checkpoint-cap 1GB", "0 retry work"}},

	"crash-recorded":  {verdict: "completed", then: []string{"0 run"}},
	"retried":         {verdict: "completed", then: []string{"0 run"}, undone: "rolled back"},
	"retried-rig":     {verdict: "completed", then: []string{"0 run"}},
	"resumed":         {verdict: "completed", then: []string{"0 run"}, work: "attempt\nattempt\nworked\n"},
	"edited":          {verdict: "completed", then: []string{"0 run"}},
	"program-changed": {verdict: "completed", then: []string{"0 run"}, work: "other\n"},

	"rolled-back":         {verdict: "rolled back", then: []string{"0 run"}, undone: "completed"},
	"rolled-back-twice":   {verdict: "rolled back", then: []string{"0 run"}, undone: "rolled back", hand: true},
	"rollback-undone":     {verdict: "completed", then: []string{"0 run"}},
	"failure-rolled-back": {verdict: "rolled back", then: []string{"0 run"}},
	"failure-undone":      {verdict: "rolled back", then: []string{"0 run"}, work: "attempt\nattempt\nworked\n"}, // it has not recorded the verdict
	"rolled-back-run":     {verdict: "completed", then: []string{"0 run"}},
	"restored":            {verdict: "completed", then: []string{"4 run", "0 run --restore"}},
	"branch-removed":      {verdict: "completed", then: []string{"0 run"}},

	"move-safe":     {verdict: "completed", then: []string{"0 run"}},
	"move-intended": {verdict: "interrupted", first: "0 doctor --fix", then: []string{"0 doctor --fix", "0 run"}},
	"move-renaming": {verdict: "interrupted", first: "0 doctor --fix", then: []string{"0 doctor --fix", "0 run"}},
	"move-deleting": {verdict: "interrupted", first: "0 doctor --fix", then: []string{"0 run"}},
	"move-applied":  {verdict: "interrupted", first: "0 doctor --fix", then: []string{"0 run"}},
	"undo-killed":   {verdict: "interrupted", first: "0 doctor --fix", then: []string{"0 run"}},
	"retry-killed":  {verdict: "interrupted", first: "0 doctor --fix", then: []string{"0 run"}},

	"adopted":         {verdict: "completed", other: true},
	"adoption-killed": {verdict: "crashed", other: true},
}

// proceedsBy is the command that continues an execution of a verdict. No budget of their
// hank is used up: a limit of the command line that made one end is in force no more.
var proceedsBy = map[string]any{
	"not begun": "hank run -e e", "crashed": "hank run -e e", "stopped": "hank run -e e", "budget": "hank run -e e", "rolled back": "hank run -e e",
	"failed": "hank retry -e e", "interrupted": "hank doctor --fix -e e", "paused": "hank run -e e",
}

// TestExecutionsOfAnOlderVersion opens what an older hank has left, in each of its
// states: it is read without being changed, continued, rolled back and undone, and
// nothing that it had recorded changes.
func TestExecutionsOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	archives, err := filepath.Glob("../../fixtures/upgrade/*/*.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) != len(upgrades) {
		t.Errorf("there are %d archives and %d expectations", len(archives), len(upgrades))
	}
	git, _ := exec.LookPath("git")
	for i, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		want, ok := upgrades[name]
		if !ok {
			t.Errorf("nothing is expected of %s", name)
			continue
		}
		if i%race.Step > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func() *upgraded {
				u := &upgraded{t: t, dir: t.TempDir(), registry: t.TempDir(), git: git, tracksAll: !strings.HasPrefix(name, "adopt")}
				u.unpack(archive)
				return u
			}
			u := open()
			u.read(want.verdict)
			if !want.other {
				u.proceed(want.then, cmp.Or(want.work, "attempt\nworked\n"), cmp.Or(want.rounds, "0\n1\n"))
			}
			open().move(want.first)
			if want.undone != "" {
				u := open()
				u.run("0 rollback --undo --yes")
				if got := u.verdict(); got != want.undone {
					t.Errorf("the verdict after the undo is %q, want %q", got, want.undone)
				}
				if text, err := os.ReadFile(u.path("e/agentRoot/rounds.txt")); want.hand && (err != nil || string(text) != "by hand\n") {
					t.Errorf("the undo has brought back %q (%v)", text, err)
				}
				u.kept()
			}
		})
	}
}

// upgraded is one of these executions, in a place of its own.
type upgraded struct {
	t                  *testing.T
	dir, registry, git string
	tracksAll          bool // checkpoints hold the whole workspace
}

func (u *upgraded) path(name string) string { return filepath.Join(u.dir, filepath.FromSlash(name)) }

func (u *upgraded) unpack(archive string) {
	u.t.Helper()
	f, err := os.Open(archive)
	u.must(err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	u.must(err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		u.must(err)
		path := u.path(h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			u.must(os.MkdirAll(path, h.FileInfo().Mode()))
		case tar.TypeSymlink:
			u.must(os.Symlink(h.Linkname, path))
		default:
			text, err := io.ReadAll(r)
			u.must(err)
			u.must(os.WriteFile(path, text, h.FileInfo().Mode()))
			u.must(os.Chtimes(path, h.ModTime, h.ModTime))
		}
	}
}

func (u *upgraded) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

// run runs a line that begins with an exit code.
func (u *upgraded) run(line string) []byte {
	u.t.Helper()
	args := strings.Fields(line)
	var out, errs bytes.Buffer
	cmd := exec.Command("hank", append(args[1:], "-e", "e")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = u.dir, &out, &errs
	cmd.Env = append(os.Environ(), "HANK_STATE_DIR="+u.registry, "HANK_UNATTENDED=", "GATE=", "USER=tester")
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		u.t.Fatal(err)
	}
	if got := fmt.Sprint(cmd.ProcessState.ExitCode()); got != args[0] {
		u.t.Fatalf("hank %s: exit code %s, want %s\n%s%s", strings.Join(args[1:], " "), got, args[0], out.String(), errs.String())
	}
	return out.Bytes()
}

func (u *upgraded) object(text []byte) (v map[string]any) {
	u.t.Helper()
	text = bytes.ReplaceAll(text, []byte(madeIn), []byte(u.dir))
	u.must(json.Unmarshal(text, &v))
	return v
}

func (u *upgraded) verdict() string {
	u.t.Helper()
	v, _ := u.object(u.run("0 status --json"))["verdict"].(string)
	return v
}

// printed is what the older hank's reader printed.
func (u *upgraded) printed(reader string) map[string]any {
	u.t.Helper()
	text, err := os.ReadFile(u.path("printed/" + reader + ".0.json"))
	u.must(err)
	return u.object(text)
}

// read wants what the older readers printed from this one's, no matter what is new,
// and no byte changed.
func (u *upgraded) read(verdict string) {
	u.t.Helper()
	before := u.files("e", ".hankweave/index/costs")
	u.spent()
	for _, reader := range []string{"show", "checkpoints", "status"} {
		old, now := u.printed(reader), u.object(u.run("0 "+reader+" --json"))
		if reader == "status" {
			for _, about := range []string{"findings", "lastEvent", "next", "command", "storeBytes", "silent"} {
				delete(old, about) // what it says of itself
			}
			if now["verdict"] != verdict {
				u.t.Errorf("the verdict is %v, want %q", now["verdict"], verdict)
			}
			if now["command"] != proceedsBy[verdict] {
				u.t.Errorf("the command to run next is %v, want %v", now["command"], proceedsBy[verdict])
			}
		}
		if miss := lacks(old, now, reader); miss != "" {
			u.t.Errorf("the older hank printed more: %s", miss)
		}
	}
	for _, reader := range []string{"events", "plan", "gc"} {
		u.run("0 " + reader)
	}
	if after := u.files("e", ".hankweave/index/costs"); !reflect.DeepEqual(before, after) {
		u.t.Errorf("the readers have changed the execution: %s", differ(before, after))
	}
}

// proceed brings the execution to its end.
func (u *upgraded) proceed(then []string, work, rounds string) {
	u.t.Helper()
	for _, line := range then {
		u.run(line)
	}
	u.kept()
	if got := u.verdict(); got != "completed" {
		u.t.Errorf("it has ended as %q", got)
	}
	for name, want := range map[string]string{"work.txt": work, "rounds.txt": rounds, "result.txt": rounds + work, ".gitignore": "*.tmp\n", "ready.txt": "ready\n"} {
		text, err := os.ReadFile(u.path("e/agentRoot/" + name))
		if err != nil || string(text) != want {
			u.t.Errorf("%s has %q (%v), want %q", name, text, err, want)
		}
	}
	if left, _ := filepath.Glob(u.path("e/agentRoot/.hankweave-*")); left != nil {
		u.t.Errorf("%v are left in the workspace", left)
	}
	u.sound()
}

// move rolls back to the oldest checkpoint of a codon, or the initial one, and undoes it.
func (u *upgraded) move(first string) {
	u.t.Helper()
	if first != "" {
		u.run(first)
	}
	before := u.files("e/agentRoot")
	target := ""
	for _, c := range u.printed("checkpoints")["checkpoints"].([]any) { // newest first
		c := c.(map[string]any)
		if kind := c["kind"]; kind == "initial" || kind == "completed" || kind == "error" {
			if target == "" || kind != "initial" {
				target = c["sha"].(string)
			}
		}
	}
	if target == "" {
		return
	}
	u.run("0 rollback --yes --to " + target)
	if u.tracksAll {
		u.at(target)
	}
	u.run("0 rollback --undo --yes")
	if after := u.files("e/agentRoot"); !reflect.DeepEqual(before, after) {
		u.t.Errorf("the undo has brought back something else: %s", differ(before, after))
	}
	u.kept()
	u.sound()
}

// kept wants every final record, every checkpoint and all costs of before.
func (u *upgraded) kept() {
	u.t.Helper()
	now := map[string]map[string]any{}
	for _, r := range u.object(u.run("0 show --json"))["runs"].([]any) {
		run := r.(map[string]any)
		now[run["runId"].(string)] = run
	}
	older, _ := u.printed("show")["runs"].([]any)
	for _, r := range older {
		run := r.(map[string]any)
		records, _ := run["codons"].([]any)
		present := now[run["runId"].(string)]
		if present == nil {
			u.t.Errorf("run %v is lost", run["runId"])
			continue
		}
		have, _ := present["codons"].([]any)
		for i, c := range records {
			record := c.(map[string]any)
			if i >= len(have) {
				u.t.Errorf("the record of %v is lost", record["codonId"])
				continue
			}
			if status := record["status"]; status != "completed" && status != "failed" && status != "skipped" {
				record = map[string]any{"codonId": record["codonId"], "startTime": record["startTime"], "attempt": record["attempt"]}
			}
			if miss := lacks(record, have[i], "record"); miss != "" {
				u.t.Errorf("a record has changed: %s", miss)
			}
		}
		if run["status"] != "running" {
			delete(run, "codons")
			delete(run, "head") // a run may get a checkpoint after its end
			if miss := lacks(run, present, "run"); miss != "" {
				u.t.Errorf("a run has changed: %s", miss)
			}
		}
	}
	checkpoints := map[any]any{}
	for _, c := range u.object(u.run("0 checkpoints --json"))["checkpoints"].([]any) {
		checkpoints[c.(map[string]any)["sha"]] = c
	}
	for _, c := range u.printed("checkpoints")["checkpoints"].([]any) {
		older := c.(map[string]any)
		delete(older, "current")
		if miss := lacks(older, checkpoints[older["sha"]], "checkpoint"); miss != "" {
			u.t.Errorf("a checkpoint has changed: %s", miss)
		}
	}
	u.spent()
}

// spent wants all costs of before.
func (u *upgraded) spent() {
	u.t.Helper()
	sums := func(v map[string]any) map[any]any {
		by := map[any]any{}
		for _, s := range v["sums"].([]any) {
			s := s.(map[string]any)
			by[s["key"]] = s["cost"]
		}
		return by
	}
	old, now := sums(u.printed("cost")), sums(u.object(u.run("0 cost --json")))
	for key, cost := range old {
		if was, is := cost.(float64), or0(now[key]); is < was {
			u.t.Errorf("$%v was spent on %v, now it is $%v", was, key, is)
		}
	}
}

// at compares the workspace with the tree of a checkpoint as stock git has it.
func (u *upgraded) at(sha string) {
	u.t.Helper()
	if u.git == "" {
		return
	}
	out, err := exec.Command(u.git, "--git-dir", u.store(), "--work-tree", u.dir, "ls-tree", "-r", "-z", sha).Output()
	u.must(err)
	want := map[string]string{}
	for _, line := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if about, name, ok := strings.Cut(line, "\t"); ok {
			want[name] = strings.Fields(about)[2]
		}
	}
	have := map[string]string{}
	root := u.path("e/agentRoot")
	u.must(filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		var text []byte
		if e.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text = []byte(to)
		} else if text, err = os.ReadFile(path); err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		have[filepath.ToSlash(name)] = fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text)))
		return err
	}))
	for name := range have {
		if _, ok := want[name]; !ok && (name == "scratch.tmp" || strings.HasPrefix(name, ".hankweave-")) {
			delete(have, name) // ignored, or an interrupted rig's: it stays
		}
	}
	if !reflect.DeepEqual(want, have) {
		u.t.Errorf("the workspace is not as in checkpoint %s: %s", sha, differ(want, have))
	}
}

func (u *upgraded) store() string { return u.path("e/.hankweave/checkpoints/.hankweavecheckpoints") }

// sound lets stock git look at the store.
func (u *upgraded) sound() {
	u.t.Helper()
	if u.git == "" {
		return
	}
	if out, err := exec.Command(u.git, "--git-dir", u.store(), "--work-tree", u.dir, "fsck", "--strict").CombinedOutput(); err != nil {
		u.t.Errorf("git fsck: %v\n%s", err, out)
	}
}

// files is what is below a directory: modes and contents.
func (u *upgraded) files(below string, but ...string) map[string]string {
	u.t.Helper()
	all := map[string]string{}
	u.must(filepath.WalkDir(u.path(below), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.ContainsFunc(but, func(name string) bool { return path == u.path(below+"/"+name) }) {
			return fs.SkipDir
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		text := []byte(nil)
		if fi.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		all[path] = fmt.Sprintf("%s %x", fi.Mode(), sha1.Sum(text))
		return err
	}))
	return all
}

func or0(v any) float64 {
	f, _ := v.(float64)
	return f
}

func differ(a, b map[string]string) string {
	var names []string
	for name := range a {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// lacks names the first value in old that now does not have; empty if it has all.
func lacks(old, now any, at string) string {
	switch old := old.(type) {
	case map[string]any:
		object, ok := now.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v", at, now)
		}
		for name, v := range old {
			if miss := lacks(v, object[name], at+"."+name); miss != "" {
				return miss
			}
		}
	case []any:
		list, ok := now.([]any)
		if !ok || len(list) != len(old) {
			return fmt.Sprintf("%s is %v, not %v", at, now, old)
		}
		for i := range old {
			if miss := lacks(old[i], list[i], fmt.Sprintf("%s[%d]", at, i)); miss != "" {
				return miss
			}
		}
	default:
		if !reflect.DeepEqual(old, now) {
			return fmt.Sprintf("%s is %v, not %v", at, now, old)
		}
	}
	return ""
}
