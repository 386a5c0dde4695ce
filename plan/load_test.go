package plan

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/short"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/plan/model"
	"hank/plan/steps"
	"hank/plan/tree"
)

func TestALimitAboveZeroIsALimit(t *testing.T) {
	t.Parallel()
	for given, want := range map[float64]time.Duration{0: 0, 1e-10: 1, 0.5: time.Second / 2, 1e300: 1<<63 - 1} {
		if got := (Codon{Timeout: given}).Limit(); got != want {
			t.Errorf("timeout %v is %d ns, want %d", given, got, want)
		}
	}
	if got := (Command{TimeoutSeconds: 1e-10}).Timeout(); got != 1 {
		t.Errorf("a command may take %d ns, want 1", got)
	}
}

func TestEveryFieldIsAcceptedAndKept(t *testing.T) {
	t.Parallel()
	p, ds := Load(os.DirFS("testdata/full"), "hank.json")
	for _, d := range ds {
		if d.Severity == diagnostic.Error || d.Rule == "unknown-field" || d.Rule == "ignored-field" {
			t.Errorf("%s", d)
		}
	}
	if p == nil {
		t.Fatal("there must be a program")
	}
	if len(p.Hank.Unknown) > 0 {
		t.Errorf("the struct does not know %s", p.Hank.Unknown)
	}
	for _, at := range p.Hank.places {
		if at.codon != nil && len(at.codon.Unknown) > 0 {
			t.Errorf("Codon does not know %s", at.codon.Unknown)
		}
		if at.loop != nil && len(at.loop.Unknown) > 0 {
			t.Errorf("Loop does not know %s", at.loop.Unknown)
		}
	}
	c := p.Codon("survey")
	if c.Model.String() != "anthropic/claude-sonnet-4-5" || !p.Codon("count").Model.Kind().RunsScript {
		t.Errorf("the override must hold for agents and not for scripts: %s, %s", c.Model, p.Codon("count").Model)
	}
	if p := c.Policy(""); p != (steps.Policy{Rule: -1, Retries: 2, Longest: time.Second, Jitter: 0.5, Pause: true}) {
		t.Errorf("retries: %+v", p)
	}
	if c.RigSetup[1].Command.Timeout() != time.Minute || (Command{}).Timeout() != 10*time.Minute {
		t.Error("command timeouts")
	}
	if p.IdleTimeout(c) != 600*time.Second || p.IdleTimeout(p.Codon("count")) != 300*time.Second {
		t.Error("idle timeouts")
	}
	if p.Codon("count").CheckpointedFiles == nil || p.Codon("exhaust").CheckpointedFiles != nil {
		t.Error("an empty list of patterns is not an absent one")
	}
	s, ok := p.Source("./template/")
	if !ok || !s.Dir || len(s.Files) != 2 || s.Files[0].Rel != "run.sh" || s.Files[0].Mode != 0o755 || s.Files[1].Rel != "src/x.txt" || !slices.Equal(s.Dirs, []string{"src"}) {
		t.Errorf("the copy source: %+v", s)
	}
}

// frozenFiles writes a program out as the runtime does.
func frozenFiles(t testing.TB, p *Program) map[string]string {
	t.Helper()
	written := map[string]string{}
	files, err := p.Frozen()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		_ = r.Close()
		if err != nil || int64(len(data)) != f.Size || tree.DigestOf(data) != f.Digest {
			t.Fatalf("%s: %d bytes, %v; want %d with %s", f.Path, len(data), err, f.Size, f.Digest)
		}
		written[f.Path] = string(data)
	}
	return written
}

func openIn(tree map[string]string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		text, ok := tree[name]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	}
}

// same compares what a run sees of two programs.
func same(t testing.TB, a, b *Program) {
	t.Helper()
	x, err1 := json.Marshal(a.Hank, json.Deterministic(true))
	y, err2 := json.Marshal(b.Hank, json.Deterministic(true))
	if err1 != nil || err2 != nil || string(x) != string(y) {
		t.Errorf("the hanks differ (%v %v):\n%s\n%s", err1, err2, x, y)
	}
	if !reflect.DeepEqual(a.Settings, b.Settings) || !reflect.DeepEqual(a.texts, b.texts) || a.Name != b.Name {
		t.Error("settings or texts differ")
	}
	if !reflect.DeepEqual(frozenFiles(t, a), frozenFiles(t, b)) {
		t.Error("the frozen trees differ")
	}
	for name, s := range a.sources {
		o, ok := b.sources[name]
		if !ok || s.Dir != o.Dir || !slices.Equal(s.Dirs, o.Dirs) || len(s.Files) != len(o.Files) {
			t.Errorf("copy source %s: %+v and %+v", name, s, o)
		}
	}
}

func TestAFrozenProgramIsTheSameProgram(t *testing.T) {
	t.Parallel()
	dir := fstest.MapFS{}
	full := os.DirFS("testdata/full")
	err := fs.WalkDir(full, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, _ := d.Info()
		dir[name] = &fstest.MapFile{Data: readFile(t, path.Join("testdata/full", name)), Mode: info.Mode()}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	dir["template/empty"] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
	dir["template/skip.log"] = &fstest.MapFile{Mode: 0o644}
	dir["template/dist/kept.txt"] = &fstest.MapFile{Mode: 0o644}
	dir[".gitignore"] = &fstest.MapFile{Data: []byte("*.log\n"), Mode: 0o644}
	p, ds := LoadWith(dir, "hank.json", config.Layers{Env: config.Settings{Model: "opus"}, Flags: config.Settings{Budget: &config.Ceiling{MaxDollars: 7}}})
	if p == nil {
		t.Fatal(diagnostic.Text(ds))
	}
	tree := frozenFiles(t, p)
	for name := range dir { // the author's files vanish
		delete(dir, name)
	}
	q, err := Thaw(openIn(tree))
	if err != nil {
		t.Fatal(err)
	}
	if q.Codon("survey").Model.ModelID != "claude-opus-4-8" || q.Settings.Budget.MaxDollars != 7 {
		t.Errorf("the layers must be frozen too: %s %+v", q.Codon("survey").Model, q.Settings)
	}
	s, _ := q.Source("template")
	if s == nil || !slices.Equal(s.Dirs, []string{"dist", "empty", "src"}) || len(s.Files) != 3 {
		t.Errorf("the frozen copy source: %+v", s)
	}
	again, err := Thaw(openIn(frozenFiles(t, q)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, q, again)
}

func TestADamagedFrozenProgramIsRefused(t *testing.T) {
	t.Parallel()
	tree := frozenFiles(t, mustLoad(t, hankOf(shellCodon("a", copyOf("t", "y"))), map[string]string{"t/x": "x"}))
	for _, name := range []string{"program.json", "hank/hank.json"} {
		for _, damage := range []func(string) string{
			func(s string) string { return s[:len(s)/2] },
			func(s string) string { return strings.Replace(s, "a", "b", 1) },
			func(string) string { return "" },
		} {
			broken := map[string]string{}
			for n, text := range tree {
				broken[n] = text
			}
			broken[name] = damage(tree[name])
			if p, err := Thaw(openIn(broken)); err == nil && name != "program.json" {
				t.Errorf("%s: a changed file was read: %v", name, p)
			}
		}
	}
	gone := map[string]string{"program.json": tree["program.json"]}
	if _, err := Thaw(openIn(gone)); err == nil {
		t.Error("a program without its hank was read")
	}
	tree["hank/t/x"] = "y"
	p, err := Thaw(openIn(tree))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := p.Source("t")
	if _, err := s.Files[0].Open(); err == nil {
		t.Error("a copied file with another content was opened")
	}
	newer := map[string]string{"program.json": `{"schema": 99, "files": "something else"}`}
	var want *NewerError
	if _, err := Thaw(openIn(newer)); !errors.As(err, &want) || want.Schema != 99 {
		t.Errorf("a newer program: %v", err)
	}
}

func TestTheHankFileItselfMayBeMissingOrOdd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		dir   fstest.MapFS
		file  string
		words string
	}{
		{"missing", folder(nil), "hank.json", "hank init"},
		{"the older name", folder(map[string]string{"strand.json": "{}"}), "hank.json", "strand.json"},
		{"a directory", folder(map[string]string{"hank.json/x": ""}), "hank.json", "is a directory"},
		{"outside", folder(nil), "../hank.json", "relative path"},
		{"a FIFO", fstest.MapFS{"hank.json": {Mode: fs.ModeNamedPipe}}, "hank.json", "not a regular file"},
		{"too large", fstest.MapFS{"hank.json": {Data: make([]byte, 16<<20+1)}}, "hank.json", "has 16777217 bytes, the most is 16777216"},
		{"a link", fstest.MapFS{"hank.json": {Mode: fs.ModeSymlink, Data: []byte("x")}}, "hank.json", "symbolic link"},
	} {
		p, ds := Load(c.dir, c.file)
		if p != nil || len(ds) != 1 || ds[0].Rule != "missing-file" || !strings.Contains(ds[0].String(), c.words) {
			t.Errorf("%s: %s", c.name, diagnostic.Text(ds))
		}
	}
}

// What is parsed takes many times its size.
func TestAFileOfTooManyValuesIsRefused(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	p, ds := Load(folder(map[string]string{"hank.json": `{"hank": [` + strings.Repeat("0,", 500_000) + `0]}`}), "hank.json")
	if p != nil || len(ds) != 1 || ds[0].Rule != "syntax" || !strings.Contains(ds[0].String(), "more than 500000 values") {
		t.Errorf("%d diagnostics, the first is %s", len(ds), diagnostic.Text(ds[:min(1, len(ds))]))
	}
}

// A real disk has what a map has not.
func TestAFIFOOnARealDiskDoesNotHang(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := makeFIFO(path.Join(dir, "p.md")); err != nil {
		t.Skipf("no FIFOs here: %v", err)
	}
	if err := os.WriteFile(path.Join(dir, "hank.json"), []byte(fromFile("p.md")), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, hankDir := range []HankDir{os.DirFS(dir), root.FS()} {
		done := make(chan []diagnostic.Diagnostic, 1)
		go func() {
			_, ds := Load(hankDir, "hank.json")
			done <- ds
		}()
		select {
		case ds := <-done:
			if got := rulesOf(ds); !slices.Equal(got, []string{"irregular-reference"}) {
				t.Errorf("got %s", diagnostic.Text(ds))
			}
		case <-time.After(10 * time.Second):
			t.Fatal("loading hangs at a FIFO")
		}
	}
}

func TestLinksOnARealDiskAreNotFollowed(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(path.Join(outside, "p.md"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"t/x", "hank.json"} {
		if err := os.MkdirAll(path.Dir(path.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		hank := hankOf(shellCodon("a", copyOf("t", "t")), `{"id": "b", "name": "B", "model": "haiku", "continuationMode": "fresh", "promptFile": "out/p.md"}`)
		if err := os.WriteFile(path.Join(dir, name), []byte(hank), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"out", "t/out"} {
		if err := os.Symlink(outside, path.Join(dir, name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, hankDir := range []HankDir{os.DirFS(dir), root.FS()} {
		if p, ds := Load(hankDir, "hank.json"); p != nil || !slices.Equal(rulesOf(ds), []string{"copy-irregular", "symlink-reference"}) {
			t.Errorf("got %s", diagnostic.Text(ds))
		}
	}
}

// failing is a directory in which one file cannot be opened or read.
type failing struct {
	fstest.MapFS
	name string
	fail error
}

func (f failing) Open(name string) (fs.File, error) {
	if name == f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.fail}
	}
	return f.MapFS.Open(name)
}

func TestUnreadableFilesAreNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"p.md", "t/x", "s.json"} {
		hank := hankOf(shellCodon("a", copyOf("t", "y"), `"sentinels": [{"sentinelConfig": "s.json"}]`), `{"id": "b", "name": "B", "model": "haiku", "continuationMode": "fresh", "promptFile": "p.md"}`)
		dir := folder(map[string]string{"hank.json": hank, "p.md": "p", "t/x": "x", "s.json": "{" + sentinelHead + onError + "}"})
		_, ds := Load(failing{dir, name, fs.ErrPermission}, "hank.json")
		ds = slices.DeleteFunc(ds, func(d diagnostic.Diagnostic) bool { return d.Rule == "sentinel-not-run" })
		if got := rulesOf(ds); !slices.Equal(got, []string{"unreadable-reference"}) || !strings.Contains(ds[0].Message, name) || !strings.Contains(ds[0].Message, "permission") {
			t.Errorf("%s: %s", name, diagnostic.Text(ds))
		}
	}
}

func TestCopiesFollowTheIgnoreRulesOfTheHank(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"t/keep": "", "t/node_modules/x/y": "", "t/deep/dist/z": "", "t/a.log": "", "dist/named": "", "dist/sub/x.log": "", "one.log": "",
	}
	hank := hankOf(shellCodon("a", copyOf("t", "t")), shellCodon("b", copyOf("dist", "d")), shellCodon("c", copyOf("one.log", "l")))
	p := mustLoad(t, hank, files)
	for from, want := range map[string]string{"t": "keep", "dist": "named sub/x.log", "one.log": ""} {
		s, ok := p.Source(from)
		var got []string
		for _, f := range s.Files {
			got = append(got, f.Rel)
		}
		if !ok || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", from, got, want)
		}
	}
	files[".gitignore"] = "keep\n"
	p = mustLoad(t, hank, files)
	if s, _ := p.Source("t"); len(s.Files) != 3 || s.Files[0].Rel != "a.log" {
		t.Errorf("the hank's own rules are the only ones: %+v", s)
	}
}

func TestLargeCopiesAreMentioned(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	dir := folder(map[string]string{"hank.json": hankOf(shellCodon("a", copyOf("t", "y")))})
	part := make([]byte, 44<<20)
	for i := range 6 {
		dir[fmt.Sprintf("t/%d", i)] = &fstest.MapFile{Mode: 0o644, Data: part}
	}
	if p, ds := Load(dir, "hank.json"); p == nil || !slices.Equal(rulesOf(ds), []string{"copy-large"}) {
		t.Errorf("got %s", diagnostic.Text(ds))
	}
}

func TestADollarBudgetWithoutPriceIsMentioned(t *testing.T) {
	t.Parallel()
	dir := folder(map[string]string{"hank.json": hankOf(agentCodon("a", "fresh", `"budget": {"maxDollars": 1}`))})
	l := &loader{source: tree.Live{Dir: dir}, lookup: func(string) (model.Ref, error) {
		return model.Ref{ProviderID: "anthropic", ModelID: "claude-new"}, nil
	}}
	if p, ds := l.program("hank.json", config.Layers{}); p == nil || !slices.Equal(rulesOf(ds), []string{"budget-no-price"}) {
		t.Errorf("got %s", diagnostic.Text(ds))
	}
}

func TestDefaultsOfCodons(t *testing.T) {
	t.Parallel()
	zero := 0
	for _, c := range []struct {
		codon          Codon
		failure        OnFailure
		attempts       int
		delay, longest time.Duration
		extensions     int
	}{
		{Codon{ID: "a"}, Abort, 0, 0, 0, 0},
		{Codon{ID: "a", OnFailure: Retry}, Retry, 3, time.Second, time.Minute, 0},
		{Codon{ID: "a", OnFailure: Retry, RetryConfig: &steps.Retries{MaxAttempts: 1, DelayMs: &zero}}, Retry, 1, 0, time.Minute, 0},
		{Codon{ID: "a", OnFailure: Ignore, RetryConfig: &steps.Retries{MaxAttempts: 1}, ExhaustWithPrompt: "x"}, Ignore, 0, 0, 0, 100},
		{Codon{ID: "a", ExhaustWithPrompt: "x", MaxExtensions: 7}, Abort, 0, 0, 0, 7},
		{Codon{ID: "a", MaxExtensions: 7}, Abort, 0, 0, 0, 0},
	} {
		policy := c.codon.Policy("")
		attempts, delay, longest := policy.Retries, policy.Delay, policy.Longest
		if c.codon.Failure() != c.failure || attempts != c.attempts || delay != c.delay || longest != c.longest || c.codon.Extensions() != c.extensions {
			t.Errorf("%+v: %s %d %s %s %d", c.codon, c.codon.Failure(), attempts, delay, longest, c.codon.Extensions())
		}
	}
	if (Command{TimeoutSeconds: 1e300}).Timeout() <= 0 {
		t.Error("a huge timeout must not overflow")
	}
	if got := (Command{}).Timeout(); got != 10*time.Minute {
		t.Errorf("a command without timeoutSeconds has %s", got)
	}
}
