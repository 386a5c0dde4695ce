//go:build unix

package modeltest

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
)

// A status is what the test reads of hank status --json.
type status struct {
	Next    *string `json:"nextCodon"`
	Done    int     `json:"codonsDone"`
	Planned int     `json:"codonsPlanned"`
	Awaits  string  `json:"awaitsVerdict"` // a loop that may continue before the next codon
	Command string  `json:"command"`
	Live    bool    `json:"live"`
	Gate    *struct {
		Name       string `json:"gate"`
		Checkpoint string `json:"checkpointSha"`
	} `json:"gate"`
	Cost float64 `json:"cost"`
	Last struct {
		Codon       string `json:"codonId"`
		Status      string `json:"status"`
		Interrupted string `json:"interrupted"`
	} `json:"lastCodon"`
}

func (l *lane) status() (s status) {
	l.t.Helper()
	l.ask(&s, "status")
	return s
}

// check compares everything. What is observed ends the model's doubts.
func (l *lane) check(happened []happening) {
	l.t.Helper()
	l.checkTree()
	l.checkPlace()
	l.checkMoney()
	l.checkPoints(happened)
	if l.rng.IntN(8) == 0 {
		l.checkDoctor()
	}
}

// checkTree compares the workspace.
func (l *lane) checkTree() {
	l.t.Helper()
	observed, err := readTree(l.workspace())
	l.must(err)
	if wrong := l.m.at.tree.differences(observed); len(wrong) > 0 {
		l.fatalf("the workspace is not as it must be:\n  %s", strings.Join(wrong, "\n  "))
	}
	l.m.at.tree = observed
	if !l.m.at.seen {
		l.m.at.left = slices.DeleteFunc(slices.Clone(l.m.at.left), func(path string) bool { return observed.nodes[path].kind == "" })
		l.m.at.seen = true
	}
	l.m.past.add(observed)
}

// checkPlace compares the position and the verdict.
func (l *lane) checkPlace() {
	l.t.Helper()
	at, s := l.m.at, l.status()
	next := ""
	if at.next < len(at.frozen) {
		next = at.frozen[at.next].id
	}
	is := ""
	if s.Next != nil {
		is = *s.Next
	}
	if _, said := l.m.standing(); said == "rejected" && !at.cut { // its codon fails first, once more where it has failed
		next = ""
	}
	looping, _ := at.frozen.looping(at.next)
	_, judging := at.frozen.looping(max(0, at.next-1)) // the verdict on the last iteration may be due
	if is != next && s.Awaits == "" {
		l.fatalf("status says that the next codon is %q, and it is %q", is, next)
	}
	if s.Done != at.next {
		l.fatalf("status says that %d codons are done, and %d are", s.Done, at.next)
	}
	if s.Awaits != "" && !judging {
		l.fatalf("status says that loop %s waits for a verdict, and none is left to be judged", s.Awaits)
	}
	if s.Planned != len(at.frozen) && !looping {
		l.fatalf("status says that %d codons are planned, and %d are", s.Planned, len(at.frozen))
	}
	if failed := strings.HasPrefix(s.Command, "hank retry"); failed != at.failed {
		l.fatalf("status advises %q, and that a codon has failed is %v", s.Command, at.failed)
	}
	switch g, said := l.m.standing(); {
	case s.Gate != nil && (g == nil || s.Gate.Name != g.name || said == "rejected"):
		l.fatalf("status says that gate %s waits, and it does not (%+v, %s)", s.Gate.Name, g, said)
	case s.Gate == nil && said == "pending" && !at.failed && !at.cut:
		l.fatalf("status does not say that gate %s waits", g.name)
	}
	if s.Live {
		l.fatalf("status says that a run is at work, and none is")
	}
}

func thousandths(dollars float64) int64 { return int64(math.Round(dollars * 1000)) }

// checkMoney compares hank cost, hank status and the records of state.json with
// what the scripts have said.
func (l *lane) checkMoney() {
	l.t.Helper()
	var costs struct {
		Total struct {
			Cost float64 `json:"cost"`
		} `json:"total"`
	}
	l.ask(&costs, "cost")
	is := thousandths(costs.Total.Cost)
	if is < l.m.low || is > l.m.high {
		l.fatalf("hank cost says $%d/1000, and %d to %d were spent", is, l.m.low, l.m.high)
	}
	l.m.low, l.m.high = is, is
	if s := l.status(); thousandths(s.Cost) != is {
		l.fatalf("hank status says $%v, and hank cost $%v", s.Cost, costs.Total.Cost)
	}
	var sum float64
	for _, r := range l.records() {
		for _, cost := range []*float64{r.Final, r.Partial, r.Current} {
			if cost != nil {
				sum += *cost
				break
			}
		}
	}
	if thousandths(sum) != is {
		l.fatalf("the records of state.json add up to $%v, and hank cost says $%v", sum, costs.Total.Cost)
	}
}

// A record is what the test reads of a codon's record.
type record struct {
	Final   *float64 `json:"finalCost"`
	Partial *float64 `json:"partialCost"`
	Current *float64 `json:"currentCost"`
}

// records reads the records of all runs from state.json.
func (l *lane) records() (all []record) {
	l.t.Helper()
	text, err := os.ReadFile(l.x(".hankweave", "state.json"))
	l.must(err)
	var state struct {
		Runs []struct {
			Codons []record `json:"codons"`
		} `json:"runs"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		l.fatalf("state.json: %v", err)
	}
	for _, r := range state.Runs {
		all = append(all, r.Codons...)
	}
	return all
}

// A listed is a checkpoint as hank checkpoints --json has it.
type listed struct {
	SHA     string   `json:"sha"`
	Kind    string   `json:"kind"`
	Codon   string   `json:"codonId"`
	Run     string   `json:"runId"`
	Parents []string `json:"parents"`
	Current bool     `json:"current"`
}

// list lists all checkpoints, newest first. None may be lost.
func (l *lane) list() []listed {
	l.t.Helper()
	var all struct {
		Checkpoints []listed `json:"checkpoints"`
		Lost        []any    `json:"lost"`
	}
	l.ask(&all, "checkpoints", "--limit", "0")
	if len(all.Lost) > 0 {
		l.fatalf("checkpoints are lost: %v", all.Lost)
	}
	return all.Checkpoints
}

// current is the checkpoint that the workspace was last at.
func (l *lane) current() string {
	l.t.Helper()
	for _, c := range l.list() {
		if c.Current {
			return c.SHA
		}
	}
	l.fatalf("hank checkpoints names none that the workspace was last at")
	return ""
}

// checkPoints looks that every known checkpoint is there, and compares new ones
// with what the workspace was. happened is what a run must have left.
func (l *lane) checkPoints(happened []happening) {
	l.t.Helper()
	all := l.list()
	there := map[string]bool{}
	for _, c := range all {
		there[c.SHA] = true
	}
	for sha, p := range l.m.points {
		if !there[sha] {
			l.fatalf("the checkpoint %s (%s) is gone", sha, p.kind)
		}
	}
	for _, c := range slices.Backward(all) {
		if l.m.points[c.SHA] != nil {
			continue
		}
		l.m.appeared++
		p := &point{kind: c.Kind, run: c.Run, codon: l.m.at.frozen.index(c.Codon), seen: l.m.appeared}
		l.m.points[c.SHA] = p
		for i, h := range happened {
			if h.kind != c.Kind || (c.Kind != "exit" && c.Kind != "manual" && h.codon != p.codon) {
				continue
			}
			p.place, p.codon, p.known = h.place, h.codon, true
			happened = happened[i+1:]
			break
		}
		if p.known {
			l.compare(c, p)
		}
	}
	for _, h := range happened {
		if h.kind == "completed" || h.kind == "skipped" || h.kind == "error" {
			l.fatalf("there is no checkpoint %s of codon %d", h.kind, h.codon)
		}
	}
}

// ever reports whether a checkpoint of a codon, of a person or of the beginning has a
// path.
func (l *lane) ever(path string) bool {
	l.t.Helper()
	for sha, p := range l.m.points {
		if _, has := l.manifest(sha)[path]; has && p.kind != "recovery" {
			return true
		}
	}
	return false
}

// manifest reads what git has in a commit.
func (l *lane) manifest(sha string) manifest {
	l.t.Helper()
	m := manifest{}
	for _, line := range strings.Split(l.git("ls-tree", "-r", "-z", sha), "\x00") {
		if meta, path, ok := strings.Cut(line, "\t"); ok {
			words := strings.Fields(meta)
			m[path] = words[0] + " " + words[2]
		}
	}
	return m
}

// compare compares a new checkpoint with the model's own manifest of that moment.
// An ignored file is in it only if it was recorded before.
func (l *lane) compare(c listed, p *point) {
	l.t.Helper()
	held, was := l.manifest(c.SHA), manifest{}
	if len(c.Parents) > 0 {
		was = l.manifest(c.Parents[0])
	}
	t := p.place.tree
	paths := maps.Clone(held)
	for path := range t.nodes {
		paths[path] = ""
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		n := t.nodes[path]
		if t.may(path) || n.kind == "folder" || t.may(".gitignore") {
			continue
		}
		want := ""
		switch _, recorded := was[path]; {
		case n.kind == "" || !p.mayHold(path):
		case !p.holds(path):
			if want = n.entry(); held[path] == "" {
				want = ""
			}
		case !t.ignored(path, n):
			want = n.entry()
		case recorded: // and so it may stay recorded
			if want = n.entry(); held[path] == "" {
				want = ""
			}
		}
		if (p.kind == "manual" || p.kind == "tracked") && held[path] == n.entry() {
			continue // the one takes what a person has changed, the other what the one before it has looked at: docs/checkpoints.md
		}
		if held[path] != want {
			l.fatalf("checkpoint %s (%s:%s) has %q as %q, and must have %q: the workspace had %v", c.SHA[:12], c.Kind, c.Codon, path, held[path], want, n)
		}
	}
}

// checkDoctor looks that doctor finds nothing that needs a person, and that it
// advises a command wherever something is left to do.
func (l *lane) checkDoctor() {
	l.t.Helper()
	var d struct {
		Healthy bool   `json:"healthy"`
		Command string `json:"command"`
		Next    string `json:"next"`
	}
	l.ask(&d, "doctor")
	if l.mayAsk() {
		return
	}
	if !l.m.at.done() && !strings.HasPrefix(d.Command, "hank ") {
		l.fatalf("doctor advises %q (%q), and codon %d is next", d.Command, d.Next, l.m.at.next)
	}
	if s := l.status(); s.Command != d.Command {
		l.fatalf("doctor advises %q, and status %q", d.Command, s.Command)
	}
}

// mayAsk reports whether the next command may ask something of a person: of an
// edited workspace, or of a hank that is not the frozen one. doctor says so before
// it does, and ends with 4.
func (l *lane) mayAsk() bool {
	may, _ := l.m.edited()
	g, _ := l.m.standing()
	return may || g != nil || !l.m.disk.equal(l.m.at.frozen)
}

// repair lets doctor --fix close what was cut short. Where that leaves the
// execution is not known here, so it may have a question left.
func (l *lane) repair() {
	l.t.Helper()
	if r := l.hank("doctor", "--fix"); r.code != 0 && r.code != 4 {
		l.fatalf("doctor --fix ended with %d:\n%s", r.code, r.out)
	}
}

// checkStore lets stock git look at the store.
func (l *lane) checkStore() {
	l.t.Helper()
	for line := range strings.Lines(l.git("fsck", "--strict", "--full", "--no-dangling", "--no-progress")) {
		if !strings.HasPrefix(line, "notice: ") {
			l.fatalf("git fsck: %s", line)
		}
	}
}
