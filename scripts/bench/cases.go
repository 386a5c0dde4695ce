package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"hank/scripts/bench/corpus"
	"hank/scripts/bench/system"
)

// benchCase is a row of the table that hank must meet.
type benchCase struct {
	name, title     string
	size, small     int // files; small is for --quick
	target, stretch float64
	run             func(b *bench, files int) ([]*side, error)
}

// cases are all rows but one: checkpoints with change hints. hank takes no
// hints, so there is nothing to measure.
var cases = []benchCase{
	{"first-100k", "first checkpoint, 100,000 files, 640 MB", 100_000, 200, 0.25, 0.15, first},
	{"first-10k", "first checkpoint, 10,000 files, 65 MB", 10_000, 100, 0.35, 0.25, first},
	{"changed", "10 files changed of 100,000, resident", 100_000, 200, 0.40, 0.30, func(b *bench, files int) ([]*side, error) { return again(b, files, 10) }},
	{"process", "same, new process (cache from disk)", 100_000, 200, 0.60, 0.45, newProcess},
	{"nothing", "nothing changed of 100,000, resident", 100_000, 200, 0.40, 0.30, func(b *bench, files int) ([]*side, error) { return again(b, files, 0) }},
	{"rollback", "rollback touching 5,000 of 50,000 files", 50_000, 200, 0.80, 0.50, rollback},
	{"run", "100 codons of true on 10,000 files, whole hank run", 10_000, 100, 0.60, 0.40, wholeRun},
}

func caseNames() []string {
	names := make([]string, len(cases))
	for i, c := range cases {
		names[i] = c.name
	}
	return append(names, commandsCase)
}

func caseNamed(name string) *benchCase {
	for i := range cases {
		if cases[i].name == name {
			return &cases[i]
		}
	}
	return nil
}

func unchanged(int) error { return nil }

// gitKinds are the ways in which git is measured.
var gitKinds = []struct {
	side   string
	config []string
}{{gitSide, byDefault}, {gitFsyncSide, byFsync}, {gitBatchSide, byBatch}}

// hankKind is a way in which hank is measured.
type hankKind struct {
	side     string
	unsynced bool
}

// hankKinds are those that this system can do.
func hankKinds() []hankKind {
	kinds := []hankKind{{hankSide, false}}
	if system.CanUnsync {
		kinds = append(kinds, hankKind{unsyncedSide, true})
	}
	return kinds
}

// first makes the first checkpoint of a tree, in a new store and in new
// repositories each time.
func first(b *bench, files int) ([]*side, error) {
	t, err := b.tree(files)
	if err != nil {
		return nil, err
	}
	var sides []*side
	for _, kind := range hankKinds() {
		sides = append(sides, &side{name: kind.side, turn: func(int) (sample, error) {
			r, err := b.start(b.newStore(), t.Dir, kind.unsynced)
			if err != nil {
				return sample{}, err
			}
			defer os.RemoveAll(filepath.Dir(r.store))
			s, err := r.checkpoint()
			return s, errors.Join(err, r.stop(), r.isTip(s.tree))
		}})
	}
	for _, kind := range gitKinds {
		sides = append(sides, &side{name: kind.side, turn: func(int) (sample, error) {
			g, err := newRepository(b.folder("git"), t.Dir, kind.config)
			if err != nil {
				return sample{}, err
			}
			defer os.RemoveAll(g.dir)
			return g.checkpoint()
		}})
	}
	return sides, b.turns(sides, 0, b.runs, unchanged)
}

// isTip has stock git say that the store's branch leads to a tree.
func (r *resident) isTip(tree string) error {
	g := &repository{dir: r.store, tree: filepath.Dir(r.store)}
	have, err := g.git("rev-parse", branch+"^{tree}")
	if err == nil && have != tree {
		err = fmt.Errorf("git reads the tree %s in hank's store, which has said %s", have, tree)
	}
	return err
}

// again makes checkpoints of a tree of which so many files have changed since
// the last one. Each side sees the same changes.
func again(b *bench, files, changed int) (sides []*side, err error) {
	t, err := b.tree(files)
	if err != nil {
		return nil, err
	}
	for _, kind := range hankKinds() {
		r, err := b.start(b.newStore(), t.Dir, kind.unsynced)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, r.stop(), os.RemoveAll(filepath.Dir(r.store))) }()
		if _, err := r.checkpoint(); err != nil {
			return nil, err
		}
		sides = append(sides, &side{name: kind.side, turn: func(int) (sample, error) {
			s, err := r.checkpoint()
			return s, errors.Join(err, r.isTip(s.tree))
		}})
	}
	more, err := b.repositories(t)
	if err != nil {
		return nil, err
	}
	sides = append(sides, more...)
	return sides, b.turns(sides, 1, b.runs, func(int) error { return t.Change(changed) })
}

// repositories are git's sides, each with the first checkpoint made. Cases of
// the same tree share them: each begins with a turn that does not count.
func (b *bench) repositories(t *corpus.Tree) ([]*side, error) {
	if b.standing[t] == nil {
		b.say("git's first checkpoints of %d files", t.Files)
		origin, err := newRepository(b.folder("git"), t.Dir, nil)
		if err != nil {
			return nil, err
		}
		if _, err := origin.checkpoint(); err != nil {
			return nil, err
		}
		for i, kind := range gitKinds {
			g := &repository{dir: origin.dir, tree: t.Dir, config: kind.config}
			if i > 0 {
				g.dir = b.folder("git")
				if err := os.CopyFS(g.dir, os.DirFS(origin.dir)); err != nil {
					return nil, err
				}
			}
			b.standing[t] = append(b.standing[t], g)
		}
	}
	var sides []*side
	for i, g := range b.standing[t] {
		sides = append(sides, &side{name: gitKinds[i].side, turn: func(int) (sample, error) { return g.checkpoint() }})
	}
	return sides, nil
}

// newProcess is again, but that a process of its own makes each checkpoint.
// Both sides take as long as their processes live.
func newProcess(b *bench, files int) ([]*side, error) {
	t, err := b.tree(files)
	if err != nil {
		return nil, err
	}
	var sides []*side
	for _, kind := range hankKinds() {
		r, err := b.start(b.newStore(), t.Dir, kind.unsynced)
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(filepath.Dir(r.store))
		if _, err := r.checkpoint(); err != nil {
			return nil, errors.Join(err, r.stop())
		}
		if err := r.stop(); err != nil {
			return nil, err
		}
		sides = append(sides, &side{name: kind.side, turn: func(int) (sample, error) {
			s, err := b.once(r.store, t.Dir, kind.unsynced)
			return s, errors.Join(err, r.isTip(s.tree))
		}})
	}
	more, err := b.repositories(t)
	if err != nil {
		return nil, err
	}
	sides = append(sides, more...)
	return sides, b.turns(sides, 1, b.runs, func(int) error { return t.Change(10) })
}

// wholeRun is a hank of many codons that do nothing, against a shell that does
// the same with git. Both make the first checkpoint too.
func wholeRun(b *bench, files int) ([]*side, error) {
	t, err := b.tree(files)
	if err != nil {
		return nil, err
	}
	codons := pick(b.quick, 3, 100)
	hank, err := b.buildHank()
	if err != nil {
		return nil, err
	}
	program := b.folder("program")
	if err := os.Mkdir(program, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(program, "hank.json"), []byte(doNothing(codons)), 0o644); err != nil {
		return nil, err
	}
	var sides []*side
	for _, kind := range hankKinds() {
		sides = append(sides, &side{name: kind.side, turn: func(int) (sample, error) {
			execution := b.folder("execution")
			defer os.RemoveAll(execution)
			cmd := b.command(kind.unsynced, hank, "run", program, "-e", execution, "--workspace", t.Dir, "--yes")
			cmd.Dir = program
			cmd.Env = append(gitEnvironment(), "HOME="+program, "XDG_STATE_HOME="+program, "XDG_DATA_HOME="+program)
			return b.timed(cmd, filepath.Join(execution, ".hankweave", "checkpoints", ".hankweavecheckpoints"), "--branches=run-*", codons)
		}})
	}
	for _, kind := range gitKinds {
		sides = append(sides, &side{name: kind.side, turn: func(int) (sample, error) {
			g, err := newRepository(b.folder("git"), t.Dir, kind.config)
			if err != nil {
				return sample{}, err
			}
			defer os.RemoveAll(g.dir)
			git := "git -c gc.auto=0"
			for _, c := range kind.config {
				git += " -c " + c
			}
			loop := fmt.Sprintf("set -e; i=0; while [ $i -lt %d ]; do true; %s add -A; %s commit -q --allow-empty -m checkpoint; i=$((i+1)); done", codons, git, git)
			cmd := exec.Command("sh", "-c", loop)
			cmd.Dir = t.Dir
			cmd.Env = append(gitEnvironment(), "GIT_DIR="+g.dir, "GIT_WORK_TREE="+t.Dir)
			return b.timed(cmd, g.dir, "HEAD", codons)
		}})
	}
	return sides, b.turns(sides, 0, b.runs, unchanged)
}

// timed runs a command and has stock git look at what it has made: at least so
// many commits on the branches which, and the tree of the newest.
func (b *bench) timed(cmd *exec.Cmd, dir, which string, commits int) (sample, error) {
	cmd.Stderr = nil
	start := time.Now()
	out, err := cmd.CombinedOutput()
	s := sample{elapsed: time.Since(start)}
	if err != nil {
		return s, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Args[0]), err, out)
	}
	g := &repository{dir: dir, tree: b.work}
	list, err := g.git("log", which, "--topo-order", "--format=%T")
	if err != nil {
		return s, err
	}
	trees := strings.Fields(list)
	if len(trees) < commits {
		return s, fmt.Errorf("there are %d commits in %s after %d codons", len(trees), filepath.Base(dir), commits)
	}
	s.tree = trees[0]
	return s, nil
}

func (b *bench) buildHank() (string, error) {
	if b.hank == "" {
		b.hank = filepath.Join(b.work, "hank")
		if out, err := exec.Command("go", "build", "-o", b.hank, "hank/cmd/hank").CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build: %w: %s", err, out)
		}
	}
	return b.hank, nil
}

// doNothing is a hank of so many codons of true.
func doNothing(codons int) string {
	list := make([]string, codons)
	for i := range list {
		list[i] = fmt.Sprintf(`    {"id": "c%03d", "name": "Nothing %d", "model": "shell", "continuationMode": "fresh", "promptText": "true"}`, i, i)
	}
	return "{\n  \"hank\": [\n" + strings.Join(list, ",\n") + "\n  ]\n}\n"
}

// tree returns the tree of so many files that the cases share. They change
// files in it; each makes its own stores and repositories.
func (b *bench) tree(files int) (*corpus.Tree, error) {
	if t := b.trees[files]; t != nil {
		return t, nil
	}
	t, err := b.newTree(files)
	if err == nil {
		b.trees[files] = t
	}
	return t, err
}

func (b *bench) newTree(files int) (*corpus.Tree, error) {
	b.say("making a tree of %d files", files)
	return corpus.Make(b.folder("tree"), files, b.seed)
}
