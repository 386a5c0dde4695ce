package recovery

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An agent deletes hank's folder after the last transition: what is in memory is
// written before the execution is closed.
func TestAFolderDeletedBeforeTheEndIsWrittenAnew(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := begin(t, root, 3, CreateOptions{})
	ok(t, a.start())
	ok(t, a.x.Guard())
	ok(t, a.upto(3))
	ok(t, a.exit(""))
	for os.RemoveAll(a.x.Layout.Hankweave()) != nil { // a save may be under way
	}
	want := told(t, a.close())
	_, err := Open(a.ctx, root, Options{})
	var decision *DecisionError
	if !errors.As(err, &decision) || !strings.Contains(err.Error(), fixCommand) {
		t.Fatalf("the checkpoints are gone: %v", err)
	}
	x := must(Open(a.ctx, root, Options{ReplaceStore: true}))(t)
	if got := told(t, x.State()); len(x.State().Runs) != 1 || x.State().Next() != 3 {
		t.Errorf("the state became\n%s\nand was\n%s", got, want)
	}
	ok(t, x.Close())
}

// A file in the way of a folder that the run does not need is no error of the
// run.
func TestAFileInTheWayOfAFolderDoesNotStopARun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index", "quarantine"} {
		a := begin(t, t.TempDir(), 3, CreateOptions{})
		ok(t, a.start())
		ok(t, a.x.Guard())
		ok(t, a.upto(2))
		path := filepath.Join(a.x.Layout.Hankweave(), name)
		ok(t, os.RemoveAll(path))
		ok(t, os.WriteFile(path, nil, 0o600))
		if err := a.x.inspect(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = a.x.Close() // the stat cache may have no place
	}
}

// The journal is changed between the look at it and the write: the write is
// made again, in a journal that begins anew, and nothing is lost.
func TestAJournalChangedJustBeforeAWriteIsWrittenAnew(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"longer": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString("hers\n")
			return err
		},
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"deleted": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			a := begin(t, root, 2, CreateOptions{})
			ok(t, a.start())
			var said []string
			a.x.opts.Warn = func(line string) { said = append(said, line) }
			ok(t, a.x.Guard())
			mask, done := a.x.opts.Mask, false
			a.x.opts.Mask = func(text string) string {
				if !done { // after the look, before the write
					done = true
					ok(t, change(filepath.Join(a.x.Layout.Events(), "events.jsonl")))
				}
				return mask(text)
			}
			ok(t, a.play(attempt{}))
			if !done || !strings.Contains(strings.Join(said, "\n"), "the journal (") {
				t.Errorf("nothing was said of it: %q", said)
			}
			ok(t, a.play(attempt{}))
			ok(t, a.exit(""))
			want := told(t, a.close())
			again := reopen(t, root)
			if got := told(t, again.State()); got != want {
				t.Errorf("the state became\n%s\nand was\n%s", got, want)
			}
			ok(t, again.Close())
		})
	}
}
