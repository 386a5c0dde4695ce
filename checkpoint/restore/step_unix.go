//go:build unix

package restore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"hank/checkpoint/diff"
	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// verb is what a step does to its path.
type verb uint8

const (
	nothing verb = iota
	create       // write where nothing is, or will be once deletions are done
	replace      // put a new file in place of the one that is there
	remove       // delete
)

// step is what is left to do for one change.
type step struct {
	diff.Change
	verb verb
	dir  string // directory of the path, "" for the root
	name string // last component of the path
	was  seen   // what was there when it was compared with From
	// content is the blob of what was there: From's or To's, so in the store.
	content   packdb.SHA
	temp      string // name of the staged file, while there is one
	displaced string // name of what was there, while it is displaced
	// stage is the directory that the new file is staged in: the nearest one
	// above the path that exists, so that groups, default ACLs and the file
	// system are those that the place itself has or will have.
	stage string
	// displaceWhy, if not empty, is why what is there gets another name first.
	displaceWhy string
	// refused: the system does not let it happen.
	refused bool
}

func (s *step) writes() bool { return s.verb == create || s.verb == replace }

func (s *step) displaces() bool { return s.verb == remove || s.verb == replace }

// changes is the directory in which a step begins.
func (s *step) changes() string {
	if s.writes() {
		return s.stage
	}
	return s.dir
}

// possible reports whether the system has not refused the step.
func (s *step) possible() bool { return !s.refused }

// planner looks at the disk for the changes of a scope.
type planner struct {
	req     *RestoreRequest
	scope   *scope
	saved   map[string]bool // files that From holds and To needs gone or replaced
	leftOut map[string]bool // RestoreRequest.LeftOut

	mu       sync.Mutex
	steps    []step
	done     []step // adds that the disk has already
	unsaved  []step // adds that are blocked by what is in their place
	keep     []string
	blocked  map[string]string
	refused  map[string]string // path to why
	existing map[string]seen   // directories that are there
	// interrupted says that there is a journal: temporary files will go.
	interrupted bool
}

func (p *planner) root() int { return p.req.Workspace.Fd() }

func (p *planner) mark(s step, v verb) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.verb = v
	if v == nothing && s.Kind == diff.Added {
		p.done = append(p.done, s)
	} else {
		p.steps = append(p.steps, s)
	}
}

func (p *planner) keepAs(s step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = append(p.keep, s.Path)
}

func (p *planner) block(path, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocked[path] = why
}

// note adds what stays, or what has another name now.
func (p *planner) note(path, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, noted := p.refused[path]; !noted {
		p.refused[path] = why
	}
}

// listRefused returns what was refused so far, by path.
func (p *planner) listRefused() []Refused {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Refused
	for _, path := range slices.Sorted(maps.Keys(p.refused)) {
		list = append(list, Refused{path, p.refused[path]})
	}
	return list
}

func (p *planner) anyRefused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.refused) > 0
}

// applier carries one plan out.
type applier struct {
	*planner
	ctx     context.Context
	req     *RestoreRequest
	renames renames
	holds   func(packdb.SHA) bool // reports whether the store has a blob
	report  *RestoreReport
	opened  []string    // directories that were made writable
	touched atomic.Bool // something other than temporary files has changed
	left    atomic.Bool // a temporary file that could not be removed: the journal stays
	bytes   atomic.Int64
}

// tempNames gives the steps the names of what they stage and displace.
func (a *applier) tempNames() {
	var id [6]byte
	rand.Read(id[:])
	for i := range a.steps {
		s := &a.steps[i]
		name := fmt.Sprintf("%s%s-%d", worktree.TempPrefix, hex.EncodeToString(id[:]), i)
		if s.writes() {
			s.temp = name
		}
		if s.displaces() {
			s.displaced = name + "-was"
		}
	}
}
