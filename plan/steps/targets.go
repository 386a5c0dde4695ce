package steps

import (
	"fmt"
	"path"
	"strings"

	"hank/internal/shell"
)

// targets are the files that copies of rigs have made, as far as nothing else has changed them. A
// copy costs as much as its target is deep, however many there were before it.
type targets struct {
	copies []map[string]bool // the files that each has made, relative to its target
	last   map[string]int    // by path, the number of the last copy there, of a file or a directory
}

// copy notes a copy to a clean path, which makes files for certain; each is relative to that path,
// and that path itself is empty. It returns the file made before in which the path would lie, and the
// number of the copy that has made it, from 1 on; empty: there is none.
func (t *targets) copy(to string, files map[string]bool) (inside string, by int) {
	if t.last == nil {
		t.last = map[string]int{}
	}
	newest, of := 0, "" // of the copies to the path so far and around it, and where that went
	for i := range to {
		if to[i] != '/' {
			continue
		}
		if n := t.last[to[:i]]; n > newest {
			newest, of = n, to[:i]
		}
		if newest > 0 && t.copies[newest-1][strings.TrimPrefix(to[len(of):i], "/")] {
			inside, by = to[:i], newest
		}
	}
	t.copies = append(t.copies, files)
	t.last[to] = len(t.copies)
	return inside, by
}

// Operation is one of a rig.
type Operation struct {
	Target  string          // of a copy, as it is written; empty: it is a command
	Read    bool            // what it copies could be read
	Dirs    []string        // the directories in it, relative to it
	Files   map[string]bool // the files; an empty name: it is a file
	MayFail bool
}

// Copies judges the targets of the rigs of a hank, codon after codon.
type Copies struct {
	made targets
	by   []string // the codon of each copy
	said map[string]bool
}

// Rig judges the rig of a codon. The codons of a loop can be given again for its next iteration;
// nothing is reported twice. perhaps is set of a codon whose rig may not be run, or that moves files
// away when it is done. report takes the index of an operation.
func (c *Copies) Rig(codon string, rig []Operation, perhaps bool, report func(operation int, rule, hint, message string)) {
	first, commands := c.said == nil, false
	if first {
		c.said = map[string]bool{}
	}
	begun, dirs := len(c.made.copies), map[string]bool{".": true} // what nothing but copies of this rig has made
	for i, o := range rig {
		if o.Target == "" {
			begun, commands = len(c.made.copies), true // the command may have changed anything
			continue
		}
		to, files := path.Clean(o.Target), o.Files
		if o.MayFail {
			files = nil
		}
		file, by := c.made.copy(to, files)
		c.by = append(c.by, codon)
		key := fmt.Sprintf("%d %s", i, codon)
		parent := path.Dir(to)
		switch {
		case o.MayFail || c.said[key]:
		case by > begun:
			c.said[key] = true
			report(i, "bad-target", "", fmt.Sprintf("%q is a file that an earlier copy makes, and no directory", file))
		case file != "" && !commands:
			c.said[key] = true
			report(i, "target-file", "choose another target, or make the directory by a command before the copy", fmt.Sprintf(
				"%q is a file that the rig of codon %q makes, and this copy needs a directory there: it fails, unless something between the two replaces the file", file, c.by[by-1]))
		case first && !commands && !dirs[parent] && BadTarget(to) == "" && TooLong(to) == "" && !strings.Contains(to, "<%"):
			report(i, "target-parent", "create it by a command before the copy, such as mkdir -p "+shell.Path(parent), fmt.Sprintf("nothing makes the directory %q before this copy, which cannot be made in a new workspace", parent))
			first = false // the others would fail for the same reason
		}
		first = first && o.Read
		dirs[to] = true
		for _, dir := range o.Dirs {
			dirs[path.Join(to, dir)] = true
		}
	}
	if perhaps {
		c.made, c.by = targets{}, nil
	}
}
