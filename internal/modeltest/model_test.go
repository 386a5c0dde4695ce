//go:build unix

package modeltest

import (
	"fmt"
	"maps"
	"slices"
)

// A place is where an execution stands.
type place struct {
	tree    tree     // the workspace
	clean   tree     // the workspace as hank left it: what edits are told by
	next    int      // the codon that is next: as many are finished
	failed  bool     // it has failed, and waits for a retry
	cut     bool     // it was stopped or killed: run does it again from before it
	rigDone bool     // its rig need not run again
	undone  bool     // an undo has led here
	due     bool     // the archive of a codon that is done may be left to the next run
	frozen  program  // what runs follow
	made    []string // empty directories of a person that --restore has left, and no checkpoint names yet
	path    []step   // how codons have ended on the lineage path, oldest first; not only what is finished
	begun   *step    // the codon that has begun, and has not ended; nil: none
	left    []string // what was ignored before the move that led here, and the target has not
	seen    bool     // left is what of that is there
	target  *point   // the checkpoint that a rollback has led to; nil: codons have begun since
}

func (p place) clone() place {
	p.tree, p.clean = p.tree.clone(), p.clean.clone()
	p.frozen, p.path = slices.Clone(p.frozen), slices.Clone(p.path)
	if p.begun != nil {
		begun := *p.begun
		p.begun = &begun
	}
	return p
}

// A step is a codon that has begun, and how it has ended: what a gate judges.
type step struct {
	id      string
	before  tree // the workspace that it has begun on
	start   int  // the newest start of a codon that has made a checkpoint by its end
	skipped bool // there is no gate behind it
	refused bool // its gate has had its answer
}

// finished are the places on the lineage path of the codons that are finished, in the order
// of the program: each has ended after the one before it. What has ended before that, because
// the author has put another codon in front of it since, is to run again. So is what has
// failed or was cut off since.
func (p place) finished() (all []int) {
	last := -1
	for _, c := range p.frozen {
		i := len(p.path) - 1
		for i >= 0 && p.path[i].id != c.id {
			i--
		}
		if i <= last || (p.failed || p.cut) && p.begun != nil && p.begun.id == c.id {
			break
		}
		all, last = append(all, i), i
	}
	return all
}

// follow makes p follow a program. A rig that has run is that of the codon which began.
func (p *place) follow(frozen program) {
	p.frozen = frozen
	p.next = len(p.finished())
	p.rigDone = p.rigDone && p.next < len(frozen) && p.begun != nil && p.begun.id == frozen[p.next].id
}

// last is the end of the codon before the one that is next.
func (p place) last() *step { return &p.path[p.finished()[p.next-1]] }

// A gate is one that the execution is at, and has not passed.
type gate struct {
	name   string
	key    string // with what it judges: that is what an answer is about
	behind bool
}

// open is the gate that a place is at; nil: none. Answers counts what was said at which
// gate about which work, wherever the execution has been since.
func (m *model) open(p place) *gate {
	if p.next > 0 {
		w, c := p.last(), p.frozen[p.next-1]
		g := gate{c.question(), fmt.Sprint(c.question(), " after ", w.start), true}
		if c.asks() == "after" && !(w.skipped && c.gate != "") && !w.refused && m.answers[g.key] != "approved" {
			return &g
		}
	}
	if p.next < len(p.frozen) {
		c, start := p.frozen[p.next], 0
		if len(p.path) > 0 {
			start = p.path[len(p.path)-1].start
		}
		g := gate{c.question(), fmt.Sprint(c.question(), " before ", start), false}
		if c.asks() == "before" && m.answers[g.key] != "approved" {
			return &g
		}
	}
	return nil
}

// standing is the open gate of where the execution is, and what was said there.
func (m *model) standing() (*gate, string) {
	g := m.open(m.at)
	if g == nil {
		return nil, ""
	}
	return g, m.answers[g.key]
}

// refuse does what a run does about a no at the gate that it begins at.
func (r *passage) refuse() {
	p := &r.at
	for g := r.model.open(*p); g != nil && r.model.answers[g.key] == "rejected" && !p.failed; g = r.model.open(*p) {
		delete(r.model.answers, g.key) // it counts once
		switch {
		case g.behind && p.frozen[p.next-1].onFailure == "ignore":
			p.last().refused = true
		case g.behind:
			p.begun, p.failed = p.last(), true
			p.path = slices.DeleteFunc(slices.Clone(p.path), func(s step) bool { return s.id == p.begun.id })
			p.next = len(p.finished())
		default:
			p.failed = true
		}
	}
}

func (p place) done() bool { return p.next == len(p.frozen) && !p.failed }

// A point is a checkpoint as the model knows it.
type point struct {
	kind  string
	run   string // whose branch it is on; empty: of none
	codon int    // -1: of no codon
	place place
	known bool // the model knows what was there; else it only looks whether it stays
	seen  int  // its place in the order of appearance, which a seed repeats and SHAs do not
}

// seen is all that ever stood at a path.
type history map[string][]node

func (h history) add(t tree) {
	for p, n := range t.nodes {
		if !slices.Contains(h[p], n) {
			h[p] = append(h[p], n)
		}
	}
}

// back is the workspace after it went back from a place to a target, as far as
// the documents say it. The first now codons track what they track; held tells
// what the target's checkpoint takes.
func (m *model) back(from place, target tree, now int, held func(string) bool) tree {
	if m.world.plain() && now > 0 && len(from.tree.doubt) == 0 && len(target.doubt) == 0 {
		return target.clone()
	}
	t := target.clone()
	for _, p := range m.everywhere(from.tree, target) {
		was, wanted := from.tree.nodes[p], target.nodes[p]
		_, doubtful := target.doubt[p]
		_, unsure := from.tree.doubt[p]
		switch {
		case doubtful || unsure:
			t.doubt[p] = nil
		case was.kind == "folder" || wanted.kind == "folder": // kept, made again or removed: files decide
			if was != wanted || !held(p) || !target.visible(p, wanted) && !(from.tree.ignored(p, was) && target.ignored(p, wanted)) {
				t.doubt[p] = nil // it may be ignored no more, and recorded since
			}
		case wanted.kind != "" && held(p) && target.visible(p, wanted): // it is in the checkpoint
		case m.archived[p] && !(held(p) && target.visible(p, was) && from.frozen.tracks(1, p)), // its copy may come back
			!held(p) && from.frozen.tracks(len(from.frozen), p): // it comes back as a codon has found it
			t.doubt[p] = append(slices.Clone(m.past[p]), node{}, was, wanted)
		case was == wanted && (was.kind == "" || target.visible(p, was) || !from.tree.visible(p, was)): // which the checkpoint does not have, and nobody touches; unless it is ignored no more
		case !(m.world.ignores && m.world.partial) && wanted.kind == "" && held(p) && from.frozen.tracks(now, p) && target.visible(p, was) && from.tree.visible(p, was):
			// Checkpoints track it, and the target has it not: it goes.
		case !from.frozen.tracks(len(from.frozen), p) && !held(p): // nobody tracks it, nor has a program that was adopted for the target: it stays
			t.doubt[p] = []node{was}
			if slices.ContainsFunc(allPaths(target), func(q string) bool { return q != p && (within(q, p) || within(p, q)) }) {
				t.doubt[p] = nil // in the way of something else
			}
		default:
			t.doubt[p] = append(slices.Clone(m.past[p]), node{}, was, wanted)
		}
		if _, ok := t.doubt[p]; ok {
			delete(t.nodes, p)
		}
	}
	return t
}

// keepFolders leaves the empty directories that a person has made since hank left the
// workspace in a tree that went back to a target: nobody is asked about them, so they
// stay, unless the target has something there. docs/checkpoints.md says so. Where the next
// codon does not look, nobody knows that a person has made them, and they may go. It returns
// a person's that are there then.
func (t tree) keepFolders(from place, target tree) (kept []string) {
	for path, n := range from.tree.nodes {
		if n.kind != "folder" || !slices.Contains(from.made, path) && (from.clean.has(path) || from.clean.may(path)) {
			continue
		}
		if !target.has(path) && !target.may(path) && !target.leaf(parent(path)) {
			t.way(path)
			if !from.frozen.tracks(from.next+1, path) {
				t.unsure(path, []node{{}, n})
				continue
			}
			delete(t.doubt, path)
			t.nodes[path] = n
		}
		if t.nodes[path] == n {
			kept = append(kept, path)
		}
	}
	return kept
}

// keepLeft leaves, in a tree that went back to a target, the files that were ignored
// before the move which has led to where it was, and that this has left: nobody is
// asked about them. They stay unless the target has something there, as
// docs/checkpoints.md says. ever tells whether a checkpoint has had one, so that it may
// have been recorded where it was ignored.
func (m *model) keepLeft(t tree, from place, target tree, ever func(path string) bool) {
	for _, path := range from.left {
		n := from.tree.nodes[path]
		if n.kind == "" || n.kind == "folder" || target.has(path) || target.may(path) || target.leaf(parent(path)) {
			continue
		}
		t.way(path)
		if ever(path) && (m.world.partial || !from.clean.visible(path, n)) {
			t.unsure(path, []node{{}, n})
			continue
		}
		delete(t.doubt, path)
		t.nodes[path] = n
	}
}

// everywhere lists the paths of two trees, and all where ever something stood.
func (m *model) everywhere(a, b tree) []string {
	past := newTree()
	for p := range m.past {
		past.nodes[p] = node{}
	}
	for p := range a.doubt {
		past.nodes[p] = node{}
	}
	return allPaths(a, b, past)
}

// A start is one start of a codon, as its script has logged it.
type start struct {
	codon   string
	version int
	over    bool // the script did all that it does to the workspace
}

// A happening is a checkpoint that must come out of a run, in order.
type happening struct {
	kind  string
	codon int
	place place
}

// A passage plays what the log says that a run has done.
type passage struct {
	model    *model
	at       place
	n        int // how many starts there were before
	fails    map[string]bool
	skipped  string         // the codon that a person has skipped
	adopts   map[string]int // versions that a retry may take over
	happened []happening
	adopted  bool  // the run follows another program than the one before
	begun    bool  // a codon of this run has begun
	err      error // why the log cannot be
}

func (r *passage) note(kind string, codon int) {
	r.happened = append(r.happened, happening{kind, codon, r.at.clone()})
}

func (r *passage) wrong(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// goBack takes the tree back to before the codon that is next.
func (r *passage) goBack() {
	m, p := r.model, &r.at
	p.tree = m.back(*p, p.begun.before, p.next+1, func(path string) bool { return p.frozen.tracks(p.next, path) })
}

// play plays the starts of one run. cutAtEnd says that the last one was stopped
// or killed before its end.
func (r *passage) play(starts []start, cutAtEnd bool) {
	p := &r.at
	if p.cut && (len(starts) > 0 || r.adopted) && !p.rigDone {
		r.goBack()
	}
	p.cut = false
	p.next = len(p.finished()) // in another order, the codon that was cut off is not always the next one
	r.refuse()
	for i, s := range starts {
		if g := r.model.open(*p); g != nil {
			r.wrong("codon %s began, and gate %s has not been passed", s.codon, g.name)
			return
		}
		if p.next >= len(p.frozen) || p.frozen[p.next].id != s.codon {
			r.wrong("codon %s began, and %d is next of %v", s.codon, p.next, ids(p.frozen))
			return
		}
		c := p.frozen[p.next]
		if s.version != c.version {
			if v, ok := r.adopts[c.id]; !ok || v != s.version {
				r.wrong("codon %s began as version %d, and %d is frozen", c.id, s.version, c.version)
				return
			}
			p.frozen = p.frozen.with(r.model.disk[r.model.disk.index(c.id)])
			c = p.frozen[p.next]
		}
		r.n++
		r.begin(c)
		for _, e := range c.effects {
			e.apply(p.tree, r.n)
		}
		r.model.past.add(p.tree)
		last := i == len(starts)-1
		switch {
		case last && cutAtEnd:
			p.cut = true
			if !s.over {
				for _, path := range allPaths(p.tree, p.begun.before) { // some of its effects
					p.tree.doubt[path] = nil
				}
				for _, e := range c.effects {
					p.tree.doubt[e.path] = nil
				}
			}
			return
		case r.skipped == c.id:
			r.skipped = ""
			r.forward()
			p.last().skipped = true
			r.note("skipped", p.next-1)
		case r.fails[c.id] && c.onFailure == "ignore":
			r.forward()
			r.note("error", p.next-1)
		case r.fails[c.id]:
			r.note("error", p.next)
			switch c.onFailure {
			case "retry":
				if last {
					p.failed = true
				} else {
					r.goBack()
				}
			default:
				p.failed = true
				if !last {
					r.wrong("codon %s began behind %s, which has failed", starts[i+1].codon, c.id)
					return
				}
			}
		case !last && starts[i+1].codon == s.codon: // cut off, and done again
			r.goBack()
		default:
			r.forward()
			r.note("completed", p.next-1)
			r.archive(c, p.next-1)
		}
	}
}

// hasArchive reports whether something stands there that codons want archived.
func (t tree) hasArchive(p program) bool {
	return slices.ContainsFunc(p, func(c codon) bool { return c.archive != "" && t.has(c.archive) })
}

// begin remembers the tree before a codon, and does its rig.
func (r *passage) begin(c codon) {
	p := &r.at
	if p.begun == nil {
		p.begun = &step{id: c.id, before: p.tree.clone()}
		for _, path := range allPaths(p.tree, p.clean) { // empty directories of a person are in no checkpoint yet
			if was, is := p.clean.nodes[path], p.tree.nodes[path]; !r.begun && was != is && (was.kind == "folder" || is.kind == "folder") {
				p.begun.before.unsure(path, nil)
			}
		}
	} else if !p.rigDone { // with what a move to before it has left there: docs/checkpoints.md
		p.begun = &step{id: c.id, before: p.tree.clone()}
	}
	r.begun, p.made, p.left, p.target = true, nil, nil, nil
	r.note("tracked", p.next)
	if c.rig && !p.rigDone {
		p.tree.clearCopies()
		p.tree.clear("rigged")
		p.tree.put("rigged/r", node{kind: "file", text: "rig\n"})
		r.note("rig-setup", p.next)
	}
	p.rigDone = false
}

func (r *passage) forward() {
	p := &r.at
	p.begun.start = r.n
	p.path = append(slices.Clip(p.path), *p.begun)
	p.begun, p.failed = nil, false
	p.next = len(p.finished())
}

// archive moves what a codon wants archived. The directories that become empty may
// stay or go.
func (r *passage) archive(c codon, i int) {
	if c.archive == "" || !r.at.tree.has(c.archive) {
		return
	}
	t := r.at.tree
	for _, p := range allPaths(t) {
		if p != c.archive && within(p, c.archive) && t.nodes[p].kind != "folder" {
			r.model.archived[p] = true
			if n := t.nodes[p]; t.visible(p, n) {
				delete(t.nodes, p)
			} else { // it stays, unless it was recorded before
				t.unsure(p, []node{{}, n})
			}
		}
	}
	t.doubt[c.archive] = []node{{}, {kind: "folder"}}
	r.note("archive", i)
}

func allPaths(trees ...tree) []string {
	all := map[string]bool{}
	for _, t := range trees {
		for p := range t.nodes {
			all[p] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func ids(p program) (all []string) {
	for _, c := range p {
		all = append(all, c.id)
	}
	return all
}

// A model is all that the test knows of one execution.
type model struct {
	world    world
	disk     program // what the author has written last
	versions int
	at       place
	undo     *place // where rollback --undo goes
	led      *tree  // what the move that undo takes back has led to; nil: not known
	fresh    bool   // nothing has happened since the move that undo takes back
	unsure   bool   // hank may ask about edits, or not
	past     history
	archived map[string]bool
	points   map[string]*point
	answers  map[string]string // what was asked and answered at gates: pending, approved, rejected
	appeared int               // of points, ever
	errands  []errand          // commands with an operation ID, oldest first
	low      int64             // money spent, in thousandths of a dollar: at least
	high     int64             // and at most
}

func (m *model) clone() *model {
	c := *m
	c.at = m.at.clone()
	if m.undo != nil {
		before := m.undo.clone()
		c.undo = &before
	}
	c.past, c.archived, c.points, c.answers = maps.Clone(m.past), maps.Clone(m.archived), maps.Clone(m.points), maps.Clone(m.answers)
	return &c
}

// edited reports whether a person has changed the workspace since hank left it,
// and whether hank must ask about it: a file that is tracked and visible.
func (m *model) edited() (may, must bool) {
	p := m.at
	for _, path := range allPaths(p.tree, p.clean) {
		was, is := p.clean.nodes[path], p.tree.nodes[path]
		if was == is {
			continue
		}
		may = true
		if slices.Contains(p.left, path) { // no run asks about it: docs/checkpoints.md
			continue
		}
		if was.kind == "folder" && is.kind == "" || was.kind == "" && is.kind == "folder" {
			continue
		}
		if p.next == 0 && !m.world.plain() {
			continue
		}
		if p.target != nil && !p.target.holds(path) { // another program's checkpoint, which has not looked there: docs/checkpoints.md
			continue
		}
		if p.frozen.tracks(p.next, path) || p.next == 0 {
			must = must || p.clean.visible(path, was) && p.tree.visible(path, is)
		}
	}
	return may || m.unsure, must && !m.unsure
}

// goTo is the model after a rollback to a point.
func (m *model) goTo(to *point) {
	from := m.at.clone()
	at := to.place.clone()
	at.tree = m.back(from, at.tree, from.next, to.holds)
	at.failed, at.cut, at.undone, at.made = false, false, false, nil
	at.left, at.seen, at.target = nil, false, to
	for p, n := range from.tree.nodes {
		if n.kind != "folder" && from.tree.ignored(p, n) && !to.place.tree.has(p) && !to.place.tree.may(p) {
			at.left = append(at.left, p)
		}
	}
	at.rigDone = to.kind == "rig-setup"
	at.follow(from.frozen)
	at.due = to.kind == "completed" && to.place.tree.hasArchive(from.frozen)
	if !at.rigDone {
		at.begun = nil
	}
	m.at, m.undo, m.fresh, m.unsure = at, &from, true, false
	m.ledTo(at.tree)
}

// ledTo notes the tree that a move has led to.
func (m *model) ledTo(t tree) {
	t = t.clone()
	m.led = &t
}

// holds reports whether the checkpoint takes path, if it is visible.
func (p *point) holds(path string) bool {
	return p.kind == "initial" || p.place.frozen.tracks(p.codon+1, path)
}

// mayHold reports whether it takes path or may take it: between two codons the
// documents do not say to which of them it belongs.
func (p *point) mayHold(path string) bool {
	return p.holds(path) || (p.kind == "exit" || p.kind == "manual") && p.place.frozen.tracks(p.codon+2, path)
}

// ran notes that a run has begun codons at a place, or has gone on with another program.
// That it took the tree back to before a codon that was cut off is a move that can be taken
// back.
func (m *model) ran(was place, starts []start, adopted bool) {
	if len(starts) == 0 && !(was.cut && adopted) {
		return
	}
	m.fresh, m.unsure = false, false
	if was.cut {
		m.undo, m.led = &was, nil
	}
}

// takeBack is the model after rollback --undo. Where nothing has happened
// since the move, that is exactly what was before it.
func (m *model) takeBack() {
	from, to := m.at.clone(), m.undo.clone()
	if !m.fresh {
		wanted := to.tree
		to.tree = m.back(from, to.tree, from.next, func(string) bool { return true })
		for path, options := range to.tree.doubt { // what the move that is taken back had written there goes: docs/checkpoints.md
			written := m.led == nil || m.led.has(path) || m.led.may(path)
			if len(options) > 0 && wanted.nodes[path].kind == "" && written {
				to.tree.doubt[path] = append(options, node{})
			}
		}
	}
	to.undone = true
	m.at, m.undo, m.fresh, m.unsure = to, &from, true, true
	m.ledTo(to.tree)
}
