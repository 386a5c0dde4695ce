package land

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/match"
	"hank/internal/vfs"
)

// chooseUncovered finds the files that ignore rules hid until a codon changed these. No
// checkpoint tells whether the run has made them. What nothing has touched since before the
// first checkpoint is the user's, and stays out.
func (l *lander) chooseUncovered() error {
	first, err := l.store.CommitInfo(checkpoint.SHA(l.v.State.InitialCheckpoint))
	if err != nil {
		return nil // there is none, or it is gone: nothing is older
	}
	ws, err := l.v.Layout.OpenWorkspace()
	if err != nil {
		return err
	}
	defer ws.Close()
	for _, p := range l.parts {
		if len(p.codons) == 0 {
			continue // the user has changed the rules
		}
		hidden := match.Ignored(l.store.DB, p.before, ws)
		for _, c := range p.changes {
			if c.From != (diff.Entry{}) || !hidden(c.Path) {
				continue
			}
			l.uncovered[l.inRepository(c.Path)] = true
			if olderThan(first.When, filepath.Join(ws.Path(), filepath.FromSlash(c.Path))) {
				l.excluded[c.Path] = fmt.Sprintf("it is older than the run, which has not changed it, and was ignored until %s changed the ignore rules", p.codons[0].CodonID)
			}
		}
	}
	return nil
}

// olderThan reports whether nothing has touched a file since a time: programs cannot set
// this time of a file.
func olderThan(t time.Time, name string) bool {
	fi, err := os.Lstat(name)
	if err != nil {
		return false
	}
	id, ok := vfs.IdentityOf(fi)
	return ok && id.CTime < t.UnixNano()
}
