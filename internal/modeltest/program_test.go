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
// all else stays as it is.
type codon struct {
	id        string
	version   int
	effects   []effect
	cost      int64 // thousandths of a dollar
	tracks    []string
	archive   string // a directory, or ""
	rig       bool   // copies one file to the directory "rigged"
	onFailure string
}

// A program is a hank.
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
	c := codon{id: fmt.Sprintf("c%d", i), cost: int64(rng.IntN(4)) * 125}
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
	return p
}

// changed is the program after its author has worked on it: a codon with other
// effects, or one more at the end.
func (p program) changed(rng *rand.Rand, w world, version int) program {
	next := slices.Clone(p)
	if len(p) < 7 && rng.IntN(4) == 0 {
		c := someCodon(rng, w, len(p))
		c.version = version
		return append(next, c)
	}
	c := &next[rng.IntN(len(next))]
	c.version, c.effects = version, someEffects(rng, w, c.id)
	if c.archive != "" {
		c.effects = append(c.effects, effect{"put", c.archive + "/f", c.id + " $n"})
	}
	return next
}

// hankJSON is the program as its author writes it.
func (p program) hankJSON() []byte {
	type object = map[string]any
	var codons []object
	for _, c := range p {
		lines := []string{`. "$MODEL/lib.sh"`, fmt.Sprintf("begin %s %d", c.id, c.version)}
		for _, e := range c.effects {
			lines = append(lines, e.String())
		}
		if c.cost > 0 {
			lines = append(lines, fmt.Sprintf(`echo '::hank usage {"costUSD":%d.%03d}'`, c.cost/1000, c.cost%1000))
		}
		o := object{"id": c.id, "name": c.id, "model": "shell", "continuationMode": "fresh", "promptText": strings.Join(append(lines, "over"), "\n")}
		if c.tracks != nil {
			o["checkpointedFiles"] = c.tracks
		}
		if c.archive != "" {
			o["archiveOnSuccess"] = []string{c.archive + "/**"}
		}
		if c.rig {
			o["rigSetup"] = []object{{"type": "copy", "copy": object{"from": "rigs", "to": "rigged"}}}
		}
		switch c.onFailure {
		case "ignore":
			o["onFailure"] = "ignore"
		case "retry":
			o["onFailure"], o["retryConfig"] = "retry", object{"maxAttempts": 1, "delayMs": 1}
		}
		codons = append(codons, o)
	}
	text, err := json.MarshalIndent(object{"meta": object{"name": "model", "version": "1"}, "hank": codons}, "", "  ")
	if err != nil {
		panic(err)
	}
	return text
}

func (p program) index(id string) int {
	return slices.IndexFunc(p, func(c codon) bool { return c.id == id })
}

func (p program) equal(q program) bool { return string(p.hankJSON()) == string(q.hankJSON()) }

// tracks reports whether one of the first n codons tracks path.
func (p program) tracks(n int, path string) bool {
	return slices.ContainsFunc(p[:min(n, len(p))], func(c codon) bool { return selects(c.tracks, path) })
}
