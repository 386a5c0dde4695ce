//go:build unix

package modeltest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A world says how hard a seed is.
type world struct {
	ignores bool // .gitignore comes and goes
	partial bool // some codons track a part of the workspace
}

// plain reports whether everything is tracked and nothing ignored, so that a
// rollback reaches its target exactly.
func (w world) plain() bool { return !w.ignores && !w.partial }

// A codon is one script. Its version goes up when the author changes its effects;
// all else stays as it is. One of a loop is in the program once for each iteration.
type codon struct {
	id        string
	base      string // its id in the hank: the same in each iteration
	iteration int
	loop      *loop // nil: none
	version   int
	effects   []effect
	cost      int64 // thousandths of a dollar
	tracks    []string
	archive   string // a directory, or ""
	rig       bool   // copies one file to the directory "rigged"
	onFailure string
	gate      string // before or after; empty: none
	first     bool   // of its loop
	last      bool   // of its loop
}

// asks says on which side of the codon a gate is, its own or that of its loop; empty: on none.
func (c codon) asks() string {
	switch l := c.loop; {
	case c.gate != "" || l == nil:
		return c.gate
	case l.gate == "before" && c.first && c.iteration == 0, l.gate == "after" && c.last && c.iteration == l.rounds-1:
		return l.gate
	}
	return ""
}

// question is the name of the gate that the codon asks at.
func (c codon) question() string {
	switch {
	case c.loop == nil:
		return "g" + c.base
	case c.gate == "":
		return "gloop"
	}
	return fmt.Sprintf("g%s#%d", c.base, c.iteration)
}

// judges reports whether the codon votes about its loop. It never fails and is never skipped,
// so that it always has decided.
func (c codon) judges() bool { return c.loop != nil && c.loop.rule == "judge" && c.last }

// A loop ends after its rounds.
type loop struct {
	rounds int
	rule   string // limit, or command or judge, with a limit that is a round further
	gate   string // before or after; empty: none
}

// A program is a hank, with each iteration of its loop.
type program []codon

var (
	paths   = []string{"a", "b", "c.log", "d/e", "d/f.log", "d/g/h", "k", "build/o", "build/p/q", "x y", "ü/i", "rigged/s", "n/m"}
	folders = []string{"d", "build", "build/p", "n", "e1", "e1/e2", "d/g", "k"}
)

// someEffect is a random effect. who and $n make each content another.
func someEffect(rng *rand.Rand, w world, who, n string) effect {
	path := paths[rng.IntN(len(paths))]
	text := who + " " + n
	switch k := rng.IntN(20); {
	case k < 8:
		return effect{"put", path, text}
	case k < 11:
		return effect{"add", path, text}
	case k < 14:
		return effect{"del", append(slices.Clone(paths), folders...)[rng.IntN(len(paths)+len(folders))], ""}
	case k < 16:
		return effect{"dir", folders[rng.IntN(len(folders))], ""}
	case k < 17:
		return effect{"lnk", path, "to " + text}
	case k < 18 || !w.ignores:
		return effect{"exe", path, ""}
	case k < 19:
		some := slices.Clone(rules)
		rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		return effect{"put", ".gitignore", strings.Join(some[:1+rng.IntN(2)], "\n")}
	default:
		return effect{"del", ".gitignore", ""}
	}
}

func someEffects(rng *rand.Rand, w world, id string) []effect {
	// What nobody else writes tells the starts of a codon apart.
	all := []effect{{"put", "out/" + id, id + " $n"}}
	for range 1 + rng.IntN(5) {
		all = append(all, someEffect(rng, w, id, "$n"))
	}
	return all
}

func someCodon(rng *rand.Rand, w world, i int) codon {
	c := codon{id: fmt.Sprintf("c%d", i), base: fmt.Sprintf("c%d", i), cost: int64(rng.IntN(4)) * 125}
	c.effects = someEffects(rng, w, c.id)
	if w.partial && rng.IntN(3) > 0 {
		c.tracks = [][]string{{"a", "d", "out"}, {"*.log", "out/**"}, {"d/**", "k"}, {"out/" + c.id}, {}}[rng.IntN(5)]
	}
	if rng.IntN(4) == 0 {
		c.archive = "arc" + c.id
		c.effects = append(c.effects, effect{"put", c.archive + "/f", c.id + " $n"}, effect{"put", c.archive + "/g.log", c.id + " $n"})
	}
	c.rig = rng.IntN(4) == 0
	c.onFailure = []string{"", "", "", "ignore", "retry"}[rng.IntN(5)]
	return c
}

func someProgram(rng *rand.Rand, w world) program {
	var p program
	for i := range 3 + rng.IntN(3) {
		p = append(p, someCodon(rng, w, i))
	}
	// A gate may be wherever a person does not stand between a hank and its end, and where
	// a no is not followed by something that the documents leave open.
	for i := 1; i < len(p)-1; i++ {
		if c := &p[i]; c.onFailure != "retry" && rng.IntN(3) == 0 {
			c.gate = []string{"before", "after"}[rng.IntN(2)]
			if c.gate == "before" {
				c.onFailure = ""
			} else {
				c.archive = ""
			}
		}
	}
	if rng.IntN(2) == 0 {
		first := rng.IntN(len(p) - 1)
		end := first + 1 + rng.IntN(min(2, len(p)-1-first))
		l := &loop{rounds: 2, rule: []string{"limit", "command", "judge"}[rng.IntN(3)]}
		if l.rule == "judge" {
			p[end-1].onFailure, p[end-1].gate, l.rounds = "", "", 2+rng.IntN(2)
		}
		own := slices.ContainsFunc(p[first:end], func(c codon) bool { return c.gate != "" })
		switch side := rng.IntN(3); {
		case own || first == 0:
		case side == 0 && p[first].onFailure != "retry":
			l.gate, p[first].onFailure = "before", ""
		case side == 1 && p[end-1].onFailure != "retry":
			l.gate, p[end-1].archive = "after", ""
		}
		p = p.looped(first, end, l)
	}
	return p
}

// looped is the program with some of its codons in a loop. A codon follows it, so that
// no verdict is all that is left to do.
func (p program) looped(from, to int, l *loop) program {
	p = slices.Clone(p)
	for i := from; i < to; i++ {
		p[i].loop = l
	}
	return p.laidOut()
}

// written is the program as its author writes it: with each codon of its loop once.
func (p program) written() program {
	return slices.DeleteFunc(slices.Clone(p), func(c codon) bool { return c.iteration > 0 })
}

// laidOut is a written program with each iteration of its loop.
func (p program) laidOut() program {
	from := slices.IndexFunc(p, func(c codon) bool { return c.loop != nil })
	if from < 0 {
		return p
	}
	to := from
	for to < len(p) && p[to].loop != nil {
		to++
	}
	all := slices.Clone(p[:from])
	for i := range p[from].loop.rounds {
		for k, c := range p[from:to] {
			c.id, c.iteration, c.first, c.last = fmt.Sprintf("%s#%d", c.base, i), i, k == 0, from+k == to-1
			all = append(all, c)
		}
	}
	return append(all, p[to:]...)
}

// inserted is the written program with one more codon before the one at an index. At an end
// of the loop it is in the loop if inside says so, but not behind the codon that votes.
func (p program) inserted(i int, inside bool, c codon) program {
	before, after := i > 0 && p[i-1].loop != nil, i < len(p) && p[i].loop != nil
	switch {
	case after && (before || inside):
		c.loop = p[i].loop
	case before && inside && !p[i-1].judges():
		c.loop = p[i-1].loop
	}
	if c.loop != nil { // the gate of the loop may be its own now: see someProgram
		c.onFailure, c.archive = "", ""
	}
	return slices.Insert(p, i, c)
}

// with is the program with another version of a codon, in each iteration.
func (p program) with(other codon) program {
	next := slices.Clone(p)
	for i := range next {
		if next[i].base == other.base {
			next[i].version, next[i].effects = other.version, other.effects
		}
	}
	return next
}

// looping reports whether a codon at an index or after it belongs to the loop, whose
// iterations are laid out one at a time, and whether the loop is ended by a verdict.
func (p program) looping(next int) (looping, judging bool) {
	for _, c := range p[min(next, len(p)):] {
		looping, judging = looping || c.loop != nil, judging || c.loop != nil && c.loop.rule != "limit"
	}
	return looping, judging
}

// changed is the program after its author has worked on it: a codon more or less, two in
// another order, or one with other effects. What is tracked before each codon stays as it is:
// the documents do not say what becomes of files that only another program has tracked.
func (p program) changed(rng *rand.Rand, w world, version int) program {
	h := p.written()
	switch k := rng.IntN(8); {
	case k < 4 && len(p) < 9:
		c := someCodon(rng, w, 100+version)
		c.version = version
		i := rng.IntN(len(h) + 1)
		if w.partial {
			c.tracks = h[max(0, i-1)].tracks
		}
		return h.inserted(i, rng.IntN(2) == 0, c).laidOut()
	case k == 4 && len(h) > 2 && !w.partial:
		if i := rng.IntN(len(h)); h[i].loop == nil {
			h = slices.Delete(h, i, i+1)
		}
	case k == 5 && !w.partial:
		if i := rng.IntN(len(h) - 1); h[i].loop == nil && h[i+1].loop == nil {
			h[i], h[i+1] = h[i+1], h[i]
		}
	}
	if q := h.laidOut(); !slices.Equal(ids(q), ids(p)) {
		if end := q[len(q)-1]; q[0].asks() == "" && end.asks() == "" && end.loop == nil { // as someProgram has it
			return q
		}
	}
	c := p[rng.IntN(len(p))]
	c.version, c.effects = version, someEffects(rng, w, c.base)
	if c.archive != "" {
		c.effects = append(c.effects, effect{"put", c.archive + "/f", c.base + " $n"})
	}
	return p.with(c)
}

// hankJSON is the program as its author writes it.
func (p program) hankJSON() []byte {
	type object = map[string]any
	var entries []object
	var around object // the loop that is open
	for _, c := range p {
		if c.iteration > 0 {
			continue
		}
		lines := []string{`. "$MODEL/lib.sh"`, fmt.Sprintf(`begin "$HANK_CODON" %d`, c.version)}
		for _, e := range c.effects {
			lines = append(lines, e.String())
		}
		if c.judges() { // two votes in a row end it
			lines = append(lines, fmt.Sprintf(`[ "$HANK_ITERATION" -ge %d ] && says=stop || says=continue`, c.loop.rounds-2), `echo "{\"decision\":\"$says\",\"reason\":\"$HANK_ITERATION\"}" >"$HANK_DECISION"`)
		}
		if c.cost > 0 {
			lines = append(lines, fmt.Sprintf(`echo '::hank usage {"costUSD":%d.%03d}'`, c.cost/1000, c.cost%1000))
		}
		o := object{"id": c.base, "name": c.base, "model": "shell", "continuationMode": "fresh", "promptText": strings.Join(append(lines, "over"), "\n")}
		if c.tracks != nil {
			o["checkpointedFiles"] = c.tracks
		}
		if c.archive != "" {
			o["archiveOnSuccess"] = []string{c.archive + "/**"}
		}
		if c.rig {
			o["rigSetup"] = []object{{"type": "copy", "copy": object{"from": "rigs", "to": "rigged"}}}
		}
		if c.gate != "" {
			o["gate"] = object{"id": "g" + c.base, "when": c.gate, "kind": "approve", "summary": "Well?"}
		}
		switch c.onFailure {
		case "ignore":
			o["onFailure"] = "ignore"
		case "retry":
			o["onFailure"], o["retryConfig"] = "retry", object{"maxAttempts": 1, "delayMs": 1}
		}
		switch {
		case c.loop == nil:
			around, entries = nil, append(entries, o)
		case around == nil:
			ends := object{"type": "iterationLimit", "limit": c.loop.rounds}
			switch c.loop.rule {
			case "command":
				ends = object{"type": "command", "until": fmt.Sprintf(`test "$HANK_ITERATION" -ge %d`, c.loop.rounds-1), "limit": c.loop.rounds + 1}
			case "judge":
				ends = object{"type": "plateau", "vote": "judge", "judge": p.judge(), "limit": c.loop.rounds + 1}
			}
			around = object{"type": "loop", "id": "loop", "name": "loop", "terminateOn": ends, "codons": []object{o}}
			if c.loop.gate != "" {
				around["gate"] = object{"id": "gloop", "when": c.loop.gate, "kind": "approve", "summary": "Well?"}
			}
			entries = append(entries, around)
		default:
			around["codons"] = append(around["codons"].([]object), o)
		}
	}
	text, err := json.MarshalIndent(object{"meta": object{"name": "model", "version": "1"}, "hank": entries}, "", "  ")
	if err != nil {
		panic(err)
	}
	return text
}

// judge is the ID in the hank of the codon that votes.
func (p program) judge() string {
	return p[slices.IndexFunc(p, codon.judges)].base
}

func (p program) index(id string) int {
	return slices.IndexFunc(p, func(c codon) bool { return c.id == id })
}

func (p program) equal(q program) bool { return string(p.hankJSON()) == string(q.hankJSON()) }

// tracks reports whether one of the first n codons tracks path.
func (p program) tracks(n int, path string) bool {
	return slices.ContainsFunc(p[:min(n, len(p))], func(c codon) bool { return selects(c.tracks, path) })
}
