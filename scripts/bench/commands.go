package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"hank/internal/shell"
	"hank/scripts/bench/corpus"
	"hank/scripts/bench/deflate"
)

// commandsCase is the case of whole commands, which has a table of its own.
const commandsCase = "commands"

// commandRow compares a command of hank, as a process from its start to its end, with
// something else that is done in turn with it.
type commandRow struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	With    string  `json:"with"`
	Hank    figure  `json:"hank"`
	Other   figure  `json:"other"`
	Ratio   float64 `json:"ratio"`
	Target  float64 `json:"target,omitempty"` // 0: there is none
	Verdict string  `json:"verdict"`
}

// commandFiles is the size of the workspace, commandChanged how many of its files have
// changed.
const (
	commandFiles   = 100_000
	commandChanged = 10
)

// commandBench is an execution of two codons, the second of which changes some files, and
// stock git with a work tree of its own that has the same files.
type commandBench struct {
	*bench
	hankTree, gitTree *corpus.Tree
	repository        *repository
	program, home     string
	execution         string
	changes           []int // the files that the second codon changes
	version           int
}

// measureCommands measures what a person waits for.
func (b *bench) measureCommands(r *results) (err error) {
	files := pick(b.quick, 200, commandFiles)
	if err := b.room(pick(b.quick, 0.2, 8)); err != nil {
		return err
	}
	c := &commandBench{bench: b}
	if err := c.prepare(files); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.remove()) }()
	add := func(name, title, with string, target float64, hank, other *side) {
		row := commandRow{Name: name, Title: title, With: with, Hank: hank.figure(), Other: other.figure(), Target: target}
		row.Ratio = float64(row.Hank.Median) / float64(row.Other.Median)
		switch {
		case files != commandFiles:
			row.Verdict = "too small to tell"
		case target == 0:
		case row.Ratio <= target:
			row.Verdict = "PASS"
		default:
			row.Verdict = "MISS"
		}
		r.Commands = append(r.Commands, row)
	}
	b.say("commands: new executions")
	run, first, floor := c.newRun(), c.firstCheckpoint(), c.floor()
	if err := b.turns([]*side{run, first, floor}, 1, b.runs, unchanged); err != nil {
		return err
	}
	add("run", "hank run, a new execution of one codon of true", "its first checkpoint alone", 1.15, run, first)
	add("floor", "the first checkpoint alone", "reading, SHA-1 and deflate of the same files", 0, first, floor)

	b.say("commands: an execution and git's first commit of %d files", files)
	if err := c.begin(); err != nil {
		return err
	}
	b.say("commands: retries")
	retry, commit := c.retry(), c.commit()
	if err := b.turns([]*side{retry, commit}, 1, b.runs, unchanged); err != nil {
		return err
	}
	add("retry", "hank retry CODON, which changes 10 files", "git add -A && git commit of 10 changed files", 1.2, retry, commit)
	b.say("commands: previews")
	for _, move := range [][]string{{"rollback", "--to", "one"}, {"restore", ".", "--from", "one"}} {
		preview, done := c.preview(move), c.move(move)
		if err := b.turns([]*side{preview, done}, 1, b.runs, unchanged); err != nil {
			return err
		}
		add(move[0]+"-plan", "hank "+move[0]+" --plan, 10 files", "the same command without --plan", 1, preview, done)
	}
	b.say("commands: differences")
	if err := c.edit(); err != nil {
		return err
	}
	diff, status := c.diff(), c.status()
	if err := b.turns([]*side{diff, status}, 1, b.runs, unchanged); err != nil {
		return err
	}
	add("diff", "hank diff, 10 files changed", "git status --porcelain -uall", 1.2, diff, status)
	return nil
}

func (c *commandBench) prepare(files int) (err error) {
	if c.hankTree, err = c.newTree(files); err != nil {
		return err
	}
	if c.gitTree, err = c.newTree(files); err != nil {
		return err
	}
	if err := c.setUp(); err != nil {
		return err
	}
	for i := 0; len(c.changes) < commandChanged; i += files/commandChanged - 1 {
		for corpus.IsLink(i) {
			i++
		}
		c.changes = append(c.changes, i)
	}
	return nil
}

// setUp builds hank and names folders.
func (c *commandBench) setUp() error {
	if _, err := c.buildHank(); err != nil {
		return err
	}
	c.program, c.home, c.execution = c.folder("program"), c.folder("home"), c.folder("execution")
	return os.Mkdir(c.home, 0o755)
}

// remove removes what is large.
func (c *commandBench) remove() error {
	err := errors.Join(os.RemoveAll(c.hankTree.Dir), os.RemoveAll(c.gitTree.Dir), os.RemoveAll(c.execution))
	if c.repository != nil {
		err = errors.Join(err, os.RemoveAll(c.repository.dir))
	}
	return err
}

// write writes a hank whose last codon changes the files.
func (c *commandBench) write(codons ...string) error {
	type codon struct {
		ID               string `json:"id"`
		Name             string `json:"name"`
		Model            string `json:"model"`
		ContinuationMode string `json:"continuationMode"`
		PromptText       string `json:"promptText"`
	}
	var list []codon
	for i, text := range codons {
		id := []string{"one", "ten"}[i]
		list = append(list, codon{id, id, "shell", "fresh", text})
	}
	text, err := json.Marshal(map[string]any{"hank": list})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.program, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.program, "hank.json"), text, 0o644)
}

// run runs hank and returns what it prints.
func (c *commandBench) run(args ...string) (string, time.Duration, error) {
	cmd := exec.Command(c.hank, args...)
	cmd.Dir = c.home
	cmd.Env = append(gitEnvironment(), "HOME="+c.home, "XDG_STATE_HOME="+c.home, "XDG_DATA_HOME="+c.home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	out, err := cmd.Output()
	took := time.Since(start)
	if err != nil {
		err = fmt.Errorf("hank %s: %w: %s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out), took, err
}

// newRun is a run of a new execution, which is removed after it.
func (c *commandBench) newRun() *side {
	return &side{name: "run", unchecked: true, turn: func(int) (sample, error) {
		if err := c.write("true"); err != nil {
			return sample{}, err
		}
		execution := c.folder("execution")
		defer os.RemoveAll(execution)
		_, took, err := c.run("run", c.program, "-e", execution, "--workspace", c.hankTree.Dir, "--yes")
		return sample{elapsed: took}, err
	}}
}

// firstCheckpoint is what of it the engine does, in a process of its own.
func (c *commandBench) firstCheckpoint() *side {
	return &side{name: "first", unchecked: true, turn: func(int) (sample, error) {
		store := c.newStore()
		defer os.RemoveAll(filepath.Dir(store))
		if err := os.MkdirAll(filepath.Dir(store), 0o755); err != nil {
			return sample{}, err
		}
		s, err := c.once(store, c.hankTree.Dir, false)
		return s, err
	}}
}

// floor reads, hashes and deflates every file on all cores, at the level of the engine, and
// writes nothing.
func (c *commandBench) floor() *side {
	return &side{name: "floor", unchecked: true, turn: func(int) (sample, error) {
		start := time.Now()
		names := make(chan string, 1024)
		var g errgroup.Group
		for range runtime.NumCPU() {
			g.Go(func() error { return deflate.Files(names) })
		}
		err := filepath.WalkDir(c.hankTree.Dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				names <- path
			}
			return err
		})
		close(names)
		err = errors.Join(err, g.Wait())
		return sample{elapsed: time.Since(start)}, err
	}}
}

// begin makes the execution, and the repository with the same files.
func (c *commandBench) begin() error {
	script := ""
	for _, i := range c.changes {
		name, err := filepath.Rel(c.hankTree.Dir, c.hankTree.Path(i))
		if err != nil {
			return err
		}
		script += "echo changed by $$ >>" + shell.Quote(name) + "\n"
	}
	if err := c.write("true", script); err != nil {
		return err
	}
	if _, _, err := c.run("run", c.program, "-e", c.execution, "--workspace", c.hankTree.Dir, "--yes"); err != nil {
		return err
	}
	var err error
	if c.repository, err = newRepository(c.folder("git"), c.gitTree.Dir, nil); err != nil {
		return err
	}
	_, err = c.repository.checkpoint()
	return err
}

// onExecution is a command on the execution.
func (c *commandBench) onExecution(args ...string) (string, time.Duration, error) {
	return c.run(append(args, "-e", c.execution)...)
}

func (c *commandBench) retry() *side {
	return &side{name: hankSide, unchecked: true, turn: func(int) (sample, error) {
		_, took, err := c.onExecution("retry", "ten", "--yes")
		return sample{elapsed: took}, err
	}}
}

func (c *commandBench) commit() *side {
	return &side{name: gitSide, unchecked: true, turn: func(int) (sample, error) {
		if err := c.append(c.gitTree); err != nil {
			return sample{}, err
		}
		c.settle()
		return c.repository.checkpoint()
	}}
}

// append changes the files as the codon does.
func (c *commandBench) append(t *corpus.Tree) error {
	c.version++
	for _, i := range c.changes {
		f, err := os.OpenFile(t.Path(i), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "changed by %d\n", c.version)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// preview is a move that is only shown.
func (c *commandBench) preview(move []string) *side {
	return &side{name: hankSide, unchecked: true, turn: func(int) (sample, error) {
		out, took, err := c.onExecution(append(move, "--plan")...)
		if want := fmt.Sprintf("0 to add, %d to change, 0 to delete", len(c.changes)); err == nil && !strings.Contains(out, want) {
			err = fmt.Errorf("hank %s --plan says %q, not %q", move[0], out, want)
		}
		return sample{elapsed: took}, err
	}}
}

// move is the same move, which is done and taken back.
func (c *commandBench) move(move []string) *side {
	back := []string{"rollback", "--undo", "--yes"}
	if move[0] == "restore" {
		back = []string{"restore", ".", "--from", "ten", "--yes"}
	}
	return &side{name: "move", unchecked: true, turn: func(int) (sample, error) {
		_, took, err := c.onExecution(append(move, "--yes")...)
		if err == nil {
			_, _, err = c.onExecution(back...)
		}
		return sample{elapsed: took}, err
	}}
}

// edit changes the same files in both trees, which are at a checkpoint and at a commit.
func (c *commandBench) edit() error {
	if _, err := c.repository.checkpoint(); err != nil {
		return err
	}
	return errors.Join(c.append(c.hankTree), c.append(c.gitTree))
}

func (c *commandBench) diff() *side {
	return &side{name: hankSide, unchecked: true, turn: func(int) (sample, error) {
		out, took, err := c.onExecution("diff")
		if n := strings.Count("\n"+out, "\nM "); err == nil && n != len(c.changes) {
			err = fmt.Errorf("hank diff names %d files:\n%s", n, out)
		}
		return sample{elapsed: took}, err
	}}
}

func (c *commandBench) status() *side {
	return &side{name: gitSide, unchecked: true, turn: func(int) (sample, error) {
		start := time.Now()
		out, err := c.repository.git("status", "--porcelain", "-uall")
		s := sample{elapsed: time.Since(start)}
		if n := strings.Count(out+"\n", "\n"); err == nil && n != len(c.changes) {
			err = fmt.Errorf("git status names %d files:\n%s", n, out)
		}
		return s, err
	}}
}
