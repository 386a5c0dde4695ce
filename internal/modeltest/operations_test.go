//go:build unix

package modeltest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// operations are what is drawn from, by weight. One that does not fit the place
// returns false, and another is drawn.
var operations = []struct {
	name   string
	weight int
	do     func(*lane) bool
}{
	{"run", 20, (*lane).run},
	{"edit", 14, (*lane).edit},
	{"rollback", 14, (*lane).rollback},
	{"branch", 6, (*lane).branch},
	{"undo", 12, (*lane).takeBack},
	{"retry", 8, (*lane).retry},
	{"restore", 5, (*lane).restore},
	{"kill at work", 4, (*lane).killAtWork},
	{"stop", 4, (*lane).stop},
	{"skip", 4, (*lane).skip},
	{"kill a run", 5, (*lane).killRun},
	{"kill a move", 5, (*lane).killMove},
	{"change the hank", 4, (*lane).changeHank},
	{"gc", 3, (*lane).gc},
	{"copy", 2, (*lane).copyElsewhere},
	{"damage", 6, (*lane).damage},
	{"backup", 3, (*lane).backup},
	{"repeat", 6, (*lane).repeat},
	{"answer", 16, (*lane).answerGate},
}

// step does one random operation, and checks everything.
func (l *lane) step() {
	l.ops++
	for {
		total := 0
		for _, o := range operations {
			total += o.weight
		}
		k := l.rng.IntN(total)
		for _, o := range operations {
			if k -= o.weight; k < 0 {
				l.say("# %d. %s", l.ops, o.name)
				if o.do(l) {
					l.counts[o.name]++
					return
				}
				l.shell = l.shell[:len(l.shell)-1]
				break
			}
		}
	}
}

// edit is a person who changes the workspace.
func (l *lane) edit() bool {
	if l.m.at.cut {
		return false
	}
	lines := []string{". ../../lib.sh"}
	for range 1 + l.rng.IntN(3) {
		e := someEffect(l.rng, l.m.world, "person", fmt.Sprint("in operation ", l.ops))
		e.apply(l.m.at.tree, 0)
		lines = append(lines, e.String())
	}
	l.sh("cd agentRoot && (" + strings.Join(lines, "; ") + ")")
	l.m.fresh = false
	l.check(nil)
	return true
}

// request makes codons fail, or not.
func (l *lane) request() map[string]bool {
	fails := map[string]bool{}
	names := ""
	for _, c := range l.m.at.frozen {
		if l.rng.IntN(8) == 0 && !c.judges() {
			fails[c.id] = true
			names += " ../fail." + c.id
		}
	}
	for _, c := range l.m.disk {
		if l.m.at.frozen.index(c.id) < 0 && l.rng.IntN(8) == 0 {
			fails[c.id] = true
			names += " ../fail." + c.id
		}
	}
	if names != "" {
		l.sh("touch" + names)
	}
	return fails
}

func (l *lane) calm() { l.sh("rm -f ../fail.* ../gate.*") }

// answers are the flags that answered hank's questions.
type answers struct{ adopt, frozen, keep, restore bool }

// answer runs a command, answers what it asks, and says how it ended in the end.
func (l *lane) answer(keep bool, args ...string) (result, answers) {
	l.t.Helper()
	var a answers
	for range 4 {
		told := l.foretell(args...)
		r := l.hank(args...)
		if r.code != 4 {
			l.told, l.toldOf = told, r
			return r, a
		}
		l.cameTrue(told, r, nil)
		may, _ := l.m.edited()
		switch {
		case strings.Contains(r.out, "the hank has changed") && !a.adopt && !a.frozen:
			if l.m.disk.equal(l.m.at.frozen) {
				l.fatalf("hank says that it has changed, and it has not:\n%s", r.out)
			}
			a.adopt = l.rng.IntN(2) == 0
			a.frozen = !a.adopt
			args = append(args, map[bool]string{true: "--adopt", false: "--frozen"}[a.adopt])
		case (strings.Contains(r.out, "the workspace was changed") || strings.Contains(r.out, "the hank is completed, and its workspace is not")) && !a.keep && !a.restore:
			if !may {
				l.fatalf("hank takes something for an edit by hand, and there is none:\n%s", r.out)
			}
			a.keep = keep && l.rng.IntN(2) == 0
			a.restore = !a.keep
			args = append(args, map[bool]string{true: "--keep-tree", false: "--restore"}[a.keep])
		default:
			l.fatalf("a question that the model does not know:\n%s", r.out)
		}
	}
	l.fatalf("hank %v asks again and again", args)
	return result{}, a
}

// goOn plays what a run or a retry has done, and compares.
func (l *lane) goOn(r *passage, a answers, cutAtEnd bool) {
	l.t.Helper()
	starts, was := l.newStarts(), r.at.clone()
	if l.told != nil {
		l.cameTrue(l.told, l.toldOf, starts)
		l.told = nil
	}
	r.model, r.n = l.m, l.starts
	l.starts += len(starts)
	if a.adopt {
		r.at.follow(slices.Clone(l.m.disk))
		r.adopted = true
	}
	if a.keep || a.restore {
		r.note("manual", r.at.next-1)
	}
	if a.keep { // it is in the checkpoint of the answer
		r.at.left, r.at.made = nil, nil
	}
	if a.restore {
		p := &r.at
		was := p.clone()
		for _, path := range p.left { // these stay as they are: docs/checkpoints.md
			delete(p.clean.nodes, path)
			if n := p.tree.nodes[path]; n.kind != "" {
				p.clean.nodes[path] = n
			}
		}
		p.tree = l.m.back(*p, p.clean, p.next, func(path string) bool { return p.frozen.tracks(p.next, path) })
		p.made = p.tree.keepFolders(was, p.clean)
		r.note("manual", r.at.next-1)
	}
	if r.at.due {
		l.archiveIsDue(&r.at.tree)
		l.archiveIsDue(&r.at.clean) // hank does it, and not a person, even where no codon is left
	}
	r.play(starts, cutAtEnd)
	if r.err != nil {
		l.fatalf("%v (it began %v)", r.err, starts)
	}
	for i, s := range starts {
		cost := l.m.cost(r.at.frozen, s)
		l.m.high += cost
		if !cutAtEnd || i < len(starts)-1 || s.over {
			l.m.low += cost
		}
	}
	r.note("exit", r.at.next-1)
	r.at.due = false
	l.m.ran(was, starts, a.adopt)
	if a.restore && was.undone { // docs/decisions.md, 68: the answer is a move then
		l.m.undo, l.m.led, l.m.fresh = &was, nil, false
	}
	r.at.undone = was.undone && len(starts) == 0 && !a.keep && !a.restore
	l.m.at = r.at
}

// cost is what a start has cost.
func (m *model) cost(p program, s start) int64 {
	return p[p.index(s.codon)].cost
}

// archiveIsDue puts in doubt what a killed run had yet to archive.
func (l *lane) archiveIsDue(t *tree) {
	for _, c := range l.m.at.frozen[:l.m.at.next] {
		for _, path := range allPaths(*t) {
			if c.archive != "" && within(path, c.archive) {
				l.m.archived[path] = true
				t.unsure(path, []node{{}, t.nodes[path]})
				t.unsure(c.archive, nil)
			}
		}
	}
}

// run brings the hank to its end, or a few codons further.
func (l *lane) run() bool {
	was := l.m.at.clone()
	_, must := l.m.edited()
	changed := !l.m.disk.equal(was.frozen)
	fails := l.request()
	args := []string{"run", "../hank"}
	if l.rng.IntN(2) == 0 {
		args = append(args, "--stop-after", fmt.Sprint(1+l.rng.IntN(2)))
	}
	if l.quiet() { // else its answers to questions are other arguments
		args = l.errand(args...)
	}
	began := l.starts
	r, a := l.answer(true, args...)
	l.carried(args, r)
	if a.adopt { // what it tracks counts
		l.m.at.follow(slices.Clone(l.m.disk))
		_, must = l.m.edited()
	}
	p := &passage{at: was.clone(), fails: fails}
	l.goOn(p, a, false)
	worked := l.starts > began
	at := l.m.at
	switch {
	case worked && must && !a.keep && !a.restore && !was.cut:
		l.fatalf("an edit by hand was not asked about")
	case worked && changed && !a.adopt && !a.frozen:
		l.fatalf("the changed hank was not asked about")
	case was.failed && worked:
		l.fatalf("a failed codon was done again by run")
	}
	l.endedWell("run", r)
	if g := l.m.open(at); !worked && !was.failed && !at.failed && !at.done() && g == nil {
		l.fatalf("run did nothing:\n%s", r.out)
	}
	if !worked && (a.keep || a.restore) {
		l.m.undo = nil // the documents do not say whether this is a move
	}
	l.end(p, worked, a.keep || a.restore)
	return true
}

// end checks what a run has left.
func (l *lane) end(p *passage, worked, answered bool) {
	l.t.Helper()
	l.calm()
	l.check(p.happened)
	if worked || answered {
		l.m.at.clean = l.m.at.tree.clone()
	}
}

// target draws a checkpoint that a rollback may go to. What a person did by hand
// belongs to no place in the plan.
func (l *lane) target() (string, *point) {
	var all []string
	for sha, p := range l.m.points {
		if p.known && p.kind != "manual" {
			all = append(all, sha)
		}
	}
	if len(all) == 0 {
		return "", nil
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(l.m.points[a].seen, l.m.points[b].seen) })
	sha := all[l.rng.IntN(len(all))]
	return sha, l.m.points[sha]
}

func (l *lane) rollback() bool {
	sha, to := l.target()
	if to == nil {
		return false
	}
	l.say("# to %s of codon %d", to.kind, to.codon)
	l.moves("rollback", "--to", sha[:16], "--yes")
	l.m.goTo(to)
	l.check(nil)
	l.m.at.clean = l.m.at.tree.clone()
	return true
}

// branch begins a run at a checkpoint of another one: it goes there as a rollback does,
// and continues.
func (l *lane) branch() bool {
	sha, to := l.target()
	if to == nil || to.run == "" {
		return false
	}
	was, there := l.m.at.clone(), to.place.clone()
	if there.follow(was.frozen); there.next == len(was.frozen) {
		return false
	}
	l.say("# at %s of codon %d", to.kind, to.codon)
	fails := l.request()
	args := []string{"run", "../hank", "--from", to.run + "@" + sha[:16]}
	if l.rng.IntN(2) == 0 {
		args = append(args, "--stop-after", "1")
	}
	if l.m.disk.equal(was.frozen) { // else its answer to a question is another argument
		args = l.errand(args...)
	}
	began := l.starts
	r, a := l.answer(false, args...)
	l.carried(args, r)
	l.m.goTo(to)
	p := &passage{at: l.m.at.clone(), fails: fails}
	a.restore = false
	l.goOn(p, a, false)
	if l.starts == began && !l.m.at.failed && !l.m.at.done() && l.m.open(l.m.at) == nil { // the adopted program may be done
		l.fatalf("a branch did nothing: %d\n%s", r.code, r.out)
	}
	l.endedWell("the branch", r)
	l.m.undo, l.m.led, l.m.fresh = &was, nil, false
	l.end(p, true, false)
	return true
}

// endedWell looks that a run has ended as it must. One that ends at a gate has asked.
func (l *lane) endedWell(what string, r result) {
	l.t.Helper()
	g, _ := l.m.standing()
	want := 8
	switch {
	case l.m.at.failed:
		want = 1
	case l.m.at.done():
		want = 0
	case g != nil && r.code == 7:
		want, l.m.answers[g.key] = 7, "pending"
	case g != nil && strings.Contains(l.shell[len(l.shell)-1], "--stop-after"): // it may have ended before it came there
	case g != nil:
		want = 7
	}
	if r.code != want {
		l.fatalf("%s ended with %d, and must end with %d:\n%s", what, r.code, want, r.out)
	}
}

// answerGate says yes or no at the gate that waits. What is about another checkpoint, or
// is another answer, is refused; the same one again changes nothing.
func (l *lane) answerGate() bool {
	g, said := l.m.standing()
	s := l.status()
	if s.Gate == nil {
		return false
	}
	if g == nil || said != "" && said != "pending" {
		l.fatalf("gate %s waits, and was answered: %s", s.Gate.Name, said)
	}
	verb, other := "approve", "reject"
	if l.rng.IntN(4) == 0 {
		verb, other = other, verb
	}
	about := []string{s.Gate.Name, "--checkpoint", s.Gate.Checkpoint[:12]}
	if l.rng.IntN(4) == 0 {
		l.want(4, verb, s.Gate.Name, "--checkpoint", "0000000000")
	}
	l.want(0, l.errand(append([]string{verb}, about...)...)...)
	l.m.answers[g.key] = verb + "ed"
	if verb == "approve" {
		l.m.answers[g.key] = "approved"
	}
	if l.rng.IntN(4) == 0 {
		l.want(0, append([]string{verb}, about...)...)
		l.want(4, append([]string{other}, about...)...)
	}
	l.check(nil)
	return true
}

// takeBack takes the last move back; twice in a row is a redo.
func (l *lane) takeBack() bool {
	if l.m.undo == nil {
		return false
	}
	l.moves("rollback", "--undo", "--yes")
	l.m.takeBack()
	l.check(nil)
	return true
}

// retry does the failed codon again, or one before.
func (l *lane) retry() bool {
	was := l.m.at.clone()
	i := was.next
	args := []string{"retry"}
	if !was.failed || l.rng.IntN(2) == 0 {
		i = l.rng.IntN(was.next + 1)
		if i == was.next && (!was.failed || i == len(was.frozen) || was.begun == nil || was.begun.id != was.frozen[i].id) {
			return false
		}
		args = append(args, was.frozen[i].id)
	}
	from, path := was.begun, was.path
	if i < was.next {
		at := was.finished()[i]
		from, path = &was.path[at], was.path[:at:at]
	}
	if from == nil {
		return false
	}
	if l.rng.IntN(2) == 0 {
		args = append(args, "--stop-after", "1")
	}
	fails := l.request()
	began := l.starts
	r, a := l.answer(false, args...)
	p := &passage{at: was.clone(), fails: fails}
	if at := l.m.disk.index(from.id); !a.adopt && !a.frozen && at >= 0 {
		p.adopts = map[string]int{from.id: l.m.disk[at].version}
	}
	p.at.path, p.at.begun, p.at.failed, p.at.cut, p.at.rigDone = path, from, false, false, false
	p.at.follow(was.frozen)
	p.at.tree = l.m.back(was, from.before, was.next+1, func(path string) bool { return was.frozen.tracks(i, path) })
	p.at.tree.keepFolders(was, from.before)
	l.m.keepLeft(p.at.tree, was, from.before, l.ever)
	for path, n := range was.tree.nodes { // ignored until a person removed the rule: the answer brings the rule back first
		if n == was.clean.nodes[path] && was.clean.ignored(path, n) && !was.tree.ignored(path, n) && !from.before.has(path) && !from.before.leaf(parent(path)) {
			p.at.tree.way(path)
			p.at.tree.unsure(path, []node{{}, n})
		}
	}
	a.restore = false
	l.goOn(p, a, false)
	if l.starts == began && !l.m.at.done() && l.m.open(l.m.at) == nil {
		l.fatalf("retry did nothing: %d\n%s", r.code, r.out)
	}
	l.endedWell("retry", r)
	l.m.undo, l.m.led, l.m.fresh = &was, nil, false
	l.end(p, true, false)
	return true
}

// restore brings one path back from a checkpoint. Files that the checkpoint does
// not have stay, unless --delete is given and codons have added them.
func (l *lane) restore() bool {
	sha, from := l.target()
	if from == nil || l.m.at.cut {
		return false
	}
	path := append(slices.Clone(paths), "d", "build", "out")[l.rng.IntN(len(paths)+3)]
	held, entries := newTree(), l.manifest(sha)
	for p := range entries {
		held.nodes[p] = from.place.tree.nodes[p]
	}
	if !held.has(path) {
		return false
	}
	args := []string{"restore", path, "--from", sha[:16], "--yes"}
	remove := l.rng.IntN(3) == 0
	if remove {
		args = append(args, "--delete")
	}
	l.moves(args...)
	t := l.m.at.tree
	for _, p := range l.m.everywhere(t, from.place.tree) {
		was := t.nodes[p]
		_, there := held.nodes[p]
		switch {
		case !within(p, path):
		case !there && l.m.world.partial && !from.holds(p) && l.m.at.frozen.tracks(len(l.m.at.frozen), p): // it comes back as a codon has found it
			t.unsure(p, append(slices.Clone(l.m.past[p]), node{}, was))
		case there && from.place.tree.may(p):
			t.way(p)
			t.unsure(p, nil)
		case there:
			t.way(p)
			delete(t.doubt, p)
			t.nodes[p] = held.nodes[p]
		case from.place.tree.nodes[p].kind == "folder" && was.kind == "" && !t.has(p) && !t.may(p): // an empty one comes back, too
			if t.put(p, node{kind: "folder"}); !l.m.world.plain() { // if it is in the checkpoint
				t.unsure(p, []node{{}, {kind: "folder"}})
			}
		case remove || was.kind == "folder" || held.has(p):
			t.unsure(p, []node{{}, was, from.place.tree.nodes[p]})
		}
	}
	for p := range from.place.tree.doubt { // what may have been an empty directory there, too
		if within(p, path) && !held.has(p) && !t.has(p) && !t.may(p) {
			t.unsure(p, []node{{}, {kind: "folder"}})
		}
	}
	if up := parent(path); up != "" {
		delete(t.nodes, up)
	}
	l.m.undo, l.m.fresh, l.m.unsure = nil, false, true
	l.check(nil)
	for p, entry := range entries {
		if n := l.m.at.tree.nodes[p]; within(p, path) && n.entry() != entry {
			l.fatalf("restore has brought back %s as %v, and the checkpoint has %s", p, n, entry)
		}
	}
	return true
}

// quiet reports whether a run would begin without a question.
func (l *lane) quiet() bool {
	may, _ := l.m.edited()
	at := l.m.at
	return !may && !at.failed && !at.done() && !at.due && l.m.disk.equal(at.frozen) && l.m.open(at) == nil
}

// atWork starts a run and waits until a codon has done its work and waits. It
// returns that codon's id, or "" where the run has ended before.
func (l *lane) atWork() (string, func() result) {
	l.t.Helper()
	at := l.m.at
	i := at.next + l.rng.IntN(min(2, len(at.frozen)-at.next))
	if i > at.next && (at.frozen[i-1].asks() == "after" || at.frozen[i].asks() == "before") {
		i = at.next
	}
	id := at.frozen[i].id
	l.sh("touch ../gate." + id)
	before, err := os.ReadFile(filepath.Join(l.dir, "log"))
	l.must(err)
	_, wait := l.start(nil, "run", "../hank")
	l.say("hank run ../hank & RUN=$!; until tail -n 1 ../log | grep -q '^over %s'; do sleep 0.02; done", id)
	ended := make(chan result, 1)
	go func() { ended <- wait() }()
	deadline := time.After(time.Minute)
	for {
		select {
		case r := <-ended:
			l.fatalf("the run ended with %d before codon %s waited:\n%s", r.code, id, r.out)
		case <-deadline:
			l.fatalf("codon %s does not begin", id)
		case <-time.After(5 * time.Millisecond):
		}
		text, err := os.ReadFile(filepath.Join(l.dir, "log"))
		l.must(err)
		if strings.HasSuffix(string(text[len(before):]), "over "+id+"\n") {
			return id, func() result { return <-ended }
		}
	}
}

// killAtWork kills the runtime while a codon waits at the end of its work.
func (l *lane) killAtWork() bool {
	if !l.quiet() {
		return false
	}
	before := l.newest()
	_, wait := l.atWork()
	l.sh("kill -9 $(sed -n 's/.*\"pid\": *\\([0-9]*\\).*/\\1/p' .hankweave/runtime.lock | head -n 1)")
	if r := wait(); !r.killed {
		l.fatalf("the runtime was not killed: %d\n%s", r.code, r.out)
	}
	l.afterKill(before)
	return true
}

// afterKill lets doctor close what a killed run has left, and looks where the
// execution stands. before is what was there before that run.
func (l *lane) afterKill(before newest) {
	l.t.Helper()
	l.calm()
	l.repair()
	s, was := l.status(), l.m.at.clone()
	next := len(was.frozen)
	switch {
	case s.Awaits != "":
		next = s.Done
	case s.Next != nil:
		next = was.frozen.index(*s.Next)
	}
	starts := l.newStarts()
	cut := was.cut
	if len(starts) > 0 {
		last := was.frozen.index(starts[len(starts)-1].codon)
		cut = next == last
		if next != last && next != last+1 {
			l.fatalf("after a kill codon %d is next, and %d was the last to begin", next, last)
		}
		if next == last+1 && !starts[len(starts)-1].over {
			l.fatalf("codon %d counts as done, and was killed at work", last)
		}
	} else if next != was.next {
		l.fatalf("after a kill codon %d is next, and nothing has begun since %d was", next, was.next)
	}
	p := &passage{model: l.m, at: was.clone(), n: l.starts}
	l.starts += len(starts)
	p.play(starts, cut)
	if p.err != nil {
		l.fatalf("%v (it began %v)", p.err, starts)
	}
	for i, s := range starts {
		cost := l.m.cost(was.frozen, s)
		l.m.high += cost
		if i < len(starts)-1 || !cut {
			l.m.low += cost
		}
	}
	now := l.newest()
	begun := now.records > before.records // a codon has
	if !cut && begun && s.Last.Interrupted != "" && s.Next != nil && s.Last.Codon == *s.Next {
		cut = true // in its rig, before its script
		if p.at.begun == nil {
			p.at.begun = &step{id: was.frozen[next].id, before: p.at.tree.clone()}
		}
	}
	p.at.cut = cut
	l.m.ran(was, starts, false)
	if was.undone && len(starts) == 0 {
		l.m.undo = nil // whether the run had begun, and taken the place over, is not known
	}
	p.at.undone = false
	l.m.at = p.at
	observed, err := readTree(l.workspace())
	l.must(err)
	if was.cut && len(starts) == 0 {
		l.redone(was, observed, begun, now.at != before.at)
	}
	if cut || l.m.at.tree.differences(observed) != nil && observed.hasArchive(was.frozen) {
		l.m.at.due = !cut
		l.m.at.tree = observed
	}
	l.check(nil)
	l.m.at.clean = l.m.at.tree.clone()
}

// A newest is what tells how far a killed run came.
type newest struct {
	records int    // of all runs
	at      string // the checkpoint that the workspace was last at
}

func (l *lane) newest() newest { return newest{len(l.records()), l.current()} }

// redone is for a killed run of which no script has begun, where a codon was cut off.
// That it has taken the tree back to before that codon is a move like another:
// docs/decisions.md, 93. begun says that the run has a record of the codon, so that
// it is cut off again; moved, that the workspace was last at another checkpoint.
func (l *lane) redone(was place, observed tree, begun, moved bool) {
	l.t.Helper()
	p := &passage{model: l.m, at: was.clone()}
	p.goBack()
	wrong := was.tree.differences(observed)
	switch {
	case begun: // and its rig may have begun, too
		l.m.undo, l.m.led, l.m.fresh = &was, nil, false
		return
	case moved:
		l.m.undo, l.m.fresh, l.m.unsure = &was, true, false
		l.m.at.cut = false
		l.m.ledTo(observed)
		wrong = p.at.tree.differences(observed)
	case len(wrong) == 0 && len(p.at.tree.differences(observed)) == 0: // where nothing had to be moved, nobody can say
		l.m.undo = nil
	}
	if len(wrong) > 0 {
		l.fatalf("a killed run, which has put the tree back: %v, has not left it so:\n  %s", moved, strings.Join(wrong, "\n  "))
	}
}

func (l *lane) stop() bool {
	if !l.quiet() {
		return false
	}
	id, wait := l.atWork()
	p := &passage{at: l.m.at.clone()}
	finish := l.rng.IntN(2) == 0
	if finish {
		l.want(0, "stop", "--after-codon")
		l.calm()
	} else {
		l.want(0, "stop", "--wait")
	}
	r := wait()
	l.goOn(p, answers{}, !finish)
	if g, _ := l.m.standing(); g == nil || r.code != 8 { // it may have ended before it came to a gate
		l.endedWell("the stopped run", r)
	}
	if finish == l.m.at.cut || finish && l.m.at.frozen[l.m.at.next-1].id != id {
		l.fatalf("the run did not stop at codon %s", id)
	}
	l.end(p, true, false)
	return true
}

func (l *lane) skip() bool {
	at := l.m.at
	if !l.quiet() || slices.ContainsFunc(at.frozen[at.next:min(at.next+2, len(at.frozen))], codon.judges) {
		return false
	}
	id, wait := l.atWork()
	p := &passage{at: at.clone(), skipped: id}
	l.want(0, "skip")
	r := wait()
	l.goOn(p, answers{}, false)
	l.endedWell("the run with a skip", r)
	l.end(p, true, false)
	return true
}

// Names of failpoints, and how often they may be passed.
var (
	commitPoints = []string{"scan.walked:3", "pack.written:2", "pack.renamed:2", "pack.indexed:2", "ref.locked:3", "ref.written:3", "ref.renamed:3", "checkpoint.packed:2", "checkpoint.referenced:3", "journal.appended:9", "journal.synced:9", "transition.acknowledged:9", "snapshot.written:3", "snapshot.renamed:3"}
	movePoints   = []string{"move.safe:1", "move.intended:1", "restore.started:1", "restore.written:3", "restore.staged:1", "restore.aside:2", "restore.filled:1", "restore.renamed:6", "restore.deleted:3", "restore.synced:1", "move.applied:1"}
	runPoints    = []string{"run.foldered:1", "plan.done:1", "run.ended:1", "archive.copied:2", "archive.recorded:2", "archive.removed:1"}
)

// strike kills a command at a failpoint, or in the long form at a random moment.
func (l *lane) strike(points []string, args ...string) result {
	l.t.Helper()
	if l.rng.IntN(3) > 0 || os.Getenv("HANK_LONG") == "" {
		name, most, _ := strings.Cut(points[l.rng.IntN(len(points))], ":")
		point := fmt.Sprintf("HANK_FAILPOINT=%s:%d", name, 1+l.rng.IntN(int(most[0]-'0')))
		_, wait := l.start([]string{point}, args...)
		r := wait()
		l.say("%s hank %s; echo $?  # %d", point, strings.Join(args, " "), r.code)
		return r
	}
	after := time.Duration(l.rng.Int64N(int64(150 * time.Millisecond)))
	cmd, wait := l.start(nil, args...)
	time.Sleep(after)
	_ = cmd.Process.Kill()
	r := wait()
	l.say("hank %s & sleep %v; kill -9 $!; wait $!  # %d", strings.Join(args, " "), after.Seconds(), r.code)
	return r
}

// killRun kills a run anywhere.
func (l *lane) killRun() bool {
	if !l.quiet() {
		return false
	}
	before := l.newest()
	r := l.strike(slices.Concat(commitPoints, movePoints, runPoints), "run", "../hank")
	if r.killed {
		l.afterKill(before)
		return true
	}
	p := &passage{at: l.m.at.clone()}
	l.goOn(p, answers{}, false)
	l.endedWell("the run", r)
	l.end(p, true, false)
	return true
}

// killMove kills a rollback or an undo anywhere. It is done, or was not begun. The
// checkpoint that the workspace was last at shows which, unless a rollback was to go
// to where the workspace was.
func (l *lane) killMove() bool {
	undo := l.m.undo != nil && l.rng.IntN(2) == 0
	done := l.m.clone()
	var args []string
	was, sha := l.current(), ""
	if undo {
		args = []string{"rollback", "--undo", "--yes"}
		done.takeBack()
	} else {
		var to *point
		if sha, to = l.target(); to == nil {
			return false
		}
		args = []string{"rollback", "--to", sha[:16], "--yes"}
		done.goTo(to)
	}
	r := l.strike(slices.Concat(commitPoints, movePoints), args...)
	if !r.killed && r.code != 0 {
		l.fatalf("%v ended with %d:\n%s", args, r.code, r.out)
	}
	l.repair()
	observed, err := readTree(l.workspace())
	l.must(err)
	s, is := l.status(), l.current()
	if is != was && !undo && is != sha {
		l.fatalf("%v has led from %s to %s", args, was, is)
	}
	fits := func(p place) []string {
		wrong := p.tree.differences(observed)
		if s.Done != p.next || strings.HasPrefix(s.Command, "hank retry") != p.failed {
			wrong = append(wrong, fmt.Sprintf("%d codons are done, and must be %d; status advises %q, and that a codon has failed is %v", s.Done, p.next, s.Command, p.failed))
		}
		return wrong
	}
	isDone, isNot := fits(done.at), fits(l.m.at)
	moved := !r.killed || is != was
	switch {
	case moved && len(isDone) > 0:
		l.fatalf("%v did not go where it should:\n  %s", args, strings.Join(isDone, "\n  "))
	case !moved && sha != was && len(isNot) > 0:
		l.fatalf("%v was killed before it was done, and did not leave what was there:\n  %s", args, strings.Join(isNot, "\n  "))
	case !moved && len(isDone) > 0 && len(isNot) > 0:
		l.fatalf("%v was killed, and is neither done nor undone\nnot done:\n  %s\nnot undone:\n  %s", args, strings.Join(isDone, "\n  "), strings.Join(isNot, "\n  "))
	case !moved && sha == was && len(isDone) == 0 && len(isNot) == 0: // both look alike
		done.undo = nil
		done.at.clean = l.m.at.clean.clone()
		for _, path := range allPaths(done.at.clean, observed) {
			if then, now := done.at.clean.nodes[path], observed.nodes[path]; then != now {
				done.at.clean.unsure(path, []node{then, now})
			}
		}
		l.m = done
		l.check(nil)
	case moved || sha == was && len(isDone) == 0:
		l.m = done
		l.check(nil)
		if !undo {
			l.m.at.clean = l.m.at.tree.clone()
		}
	default:
		l.check(nil)
	}
	l.m.unsure = true
	return true
}

// changeHank is the author at work.
func (l *lane) changeHank() bool {
	l.m.versions++
	l.m.disk = l.m.at.frozen.changed(l.rng, l.m.world, l.m.versions)
	if l.rng.IntN(4) == 0 {
		l.m.disk = l.m.at.frozen
	}
	l.writeHank()
	return true
}

// gc removes what nothing needs. What the lineage path has come from stays.
func (l *lane) gc() bool {
	before := l.list()
	l.want(0, "gc", "--apply", "--older-than", "0s")
	l.m.at.tree.clearCopies()
	l.m.at.clean.clearCopies()
	there := map[string]bool{}
	for _, c := range l.list() {
		there[c.SHA] = true
	}
	parents := map[string][]string{}
	var todo []string
	for _, c := range before {
		parents[c.SHA] = c.Parents
		if c.Current || c.Kind == "initial" {
			todo = append(todo, c.SHA)
		}
	}
	for len(todo) > 0 {
		sha := todo[0]
		todo = append(todo[1:], parents[sha]...)
		if !there[sha] { // it may stay without a branch
			l.git("cat-file", "-e", sha)
		}
	}
	for sha := range l.m.points {
		if !there[sha] {
			delete(l.m.points, sha)
		}
	}
	l.check(nil)
	l.checkStore()
	return true
}

// copyElsewhere exports all checkpoints and makes an execution of them, which
// has the same checkpoints and costs, and the workspace that a rollback to its
// newest one leads to: what that did not look at is as a later codon found it.
func (l *lane) copyElsewhere() bool {
	l.sh("rm -rf ../mirror ../y")
	l.want(0, "checkpoints", "export", "../mirror")
	l.want(0, "checkpoints", "import", "../mirror", "-e", "../y")
	mine := l.list()
	var theirs struct {
		Checkpoints []listed `json:"checkpoints"`
	}
	l.ask(&theirs, "checkpoints", "--limit", "0", "-e", "../y")
	there, current := map[string]bool{}, ""
	for _, c := range theirs.Checkpoints {
		there[c.SHA] = true
		if c.Current {
			current = c.SHA
		}
	}
	for _, c := range mine {
		if !there[c.SHA] {
			l.fatalf("the copy has no checkpoint %s (%s)", c.SHA, c.Kind)
		}
	}
	var cost struct {
		Total struct {
			Cost float64 `json:"cost"`
		} `json:"total"`
	}
	l.ask(&cost, "cost", "-e", "../y")
	if is := thousandths(cost.Total.Cost); is != l.m.low {
		l.fatalf("the copy has cost $%d/1000, and the original %d", is, l.m.low)
	}
	observed, err := readTree(filepath.Join(l.dir, "y", "agentRoot"))
	l.must(err)
	held, at := l.manifest(current), l.m.points[current]
	for path, n := range observed.nodes {
		unseen := held[path] == "" && at != nil && at.known && !at.mayHold(path)
		if unseen && l.m.at.frozen.tracks(len(l.m.at.frozen), path) && slices.Contains(l.m.past[path], n) {
			continue
		}
		if n.kind != "folder" && held[path] != n.entry() {
			l.fatalf("the copy has %s as %v, and its checkpoint %s has %q", path, n, current, held[path])
		}
		delete(held, path)
	}
	if len(held) > 0 {
		l.fatalf("the copy does not have %v of its checkpoint %s", held, current)
	}
	l.check(nil)
	return true
}

// damage takes or damages one memory. The others are enough.
func (l *lane) damage() bool {
	h := ".hankweave/"
	lines := []string{
		"rm " + h + "state.json",
		"rm -f " + h + "state.json.bak",
		"rm -f " + h + "state.json " + h + "state.json.bak",
		"printf X | dd of=" + h + "state.json bs=1 seek=$(($(wc -c <" + h + "state.json) / 2)) conv=notrunc 2>/dev/null",
		"truncate -s -1 " + h + "state.json",
		"truncate -s -9 " + h + "events/events.jsonl",
		"printf X | dd of=" + h + "events/events.jsonl bs=1 seek=$(($(wc -c <" + h + "events/events.jsonl) - 40)) conv=notrunc 2>/dev/null",
		"rm -rf " + h + "events",
		"rm -rf " + h + "index",
		"rm -f " + h + "runtime.lock",
		"[ ! -e " + h + "state.json.bak ] || cp " + h + "state.json.bak " + h + "state.json",
	}
	l.sh(lines[l.rng.IntN(len(lines))])
	if l.rng.IntN(2) == 0 {
		l.status() // a reader knows as much
	}
	l.repair()
	l.check(nil)
	if l.rng.IntN(4) == 0 {
		l.checkStore()
	}
	return true
}

// backup copies the whole execution, or puts the copy back.
func (l *lane) backup() bool {
	if l.saved == nil || l.rng.IntN(2) == 0 {
		l.sh("rm -rf ../backup && cp -a . ../backup")
		l.saved = l.m.clone()
		return true
	}
	l.sh("rm -rf ../away && mv ../x ../away && cp -a ../backup ../x && rm -rf ../away")
	disk, versions := l.m.disk, l.m.versions
	l.m = l.saved
	l.saved = l.m.clone()
	l.m.disk, l.m.versions = disk, versions
	l.m.disk = slices.Clone(disk)
	l.check(nil)
	return true
}
