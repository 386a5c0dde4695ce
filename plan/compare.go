package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan/sentinel"
	"hank/plan/tree"
)

// Change is a difference between two programs.
type Change struct {
	ID     CodonID  `json:"id,omitzero"`     // of a codon or loop; empty for the hank as a whole
	Kind   string   `json:"kind"`            // added, removed, changed, moved
	Fields []string `json:"fields,omitzero"` // of a change: the fields, and the files that they name
}

// String is the change in words.
func (c Change) String() string {
	what := string(c.ID)
	if what == "" {
		what = "the hank itself"
	}
	if len(c.Fields) == 0 {
		return what + ": " + c.Kind
	}
	return what + ": " + c.Kind + ": " + strings.Join(c.Fields, ", ")
}

// Compare says per codon and loop how a program differs from an older one.
// Files count by their content: a prompt that was edited changes the codons
// that use it. Equal programs have no changes.
func Compare(before, after *Program) []Change {
	var changes []Change
	if fields := differing(before.part(place{}), after.part(place{})); len(fields) > 0 {
		changes = append(changes, Change{Kind: "changed", Fields: fields})
	}
	was, is := map[CodonID]place{}, map[CodonID]place{}
	for _, p := range before.Hank.places {
		was[p.id()] = p
	}
	for _, p := range after.Hank.places {
		is[p.id()] = p
	}
	for _, p := range after.Hank.places {
		old, there := was[p.id()]
		switch {
		case !there:
			changes = append(changes, Change{ID: p.id(), Kind: "added"})
			continue
		case (old.loop == nil) != (p.loop == nil):
			changes = append(changes, Change{ID: p.id(), Kind: "changed", Fields: []string{"type"}})
			continue
		}
		if fields := differing(before.part(old), after.part(p)); len(fields) > 0 {
			changes = append(changes, Change{ID: p.id(), Kind: "changed", Fields: fields})
		}
	}
	for _, p := range before.Hank.places {
		if _, there := is[p.id()]; !there {
			changes = append(changes, Change{ID: p.id(), Kind: "removed"})
		}
	}
	return append(changes, moved(before, after, is)...)
}

// OwnChanges lists in what a program differs from an older one if that is
// nothing but what one codon is given to do and what is expected of it: its prompts or
// script, its rig, the files that these name, skipIf, expect and timeout. rigDone leaves out the rig. It returns nil where
// anything else differs.
func OwnChanges(before, after *Program, id CodonID, rigDone bool) []string {
	changes := Compare(before, after)
	if len(changes) != 1 || changes[0].ID != id || changes[0].Kind != "changed" {
		return nil
	}
	own := map[string]bool{}
	for _, p := range []*Program{before, after} {
		c := p.Codon(id)
		if c == nil {
			return nil
		}
		for _, name := range slices.Concat(c.PromptFile, c.AppendSystemPromptFile) {
			own[name] = true
		}
		for _, name := range c.rigFiles() {
			own[name] = own[name] || !rigDone
		}
	}
	for _, name := range []string{"promptFile", "promptText", "exhaustWithPrompt", "appendSystemPromptFile", "appendSystemPromptText", "skipIf", "expect", "timeout"} {
		own[name] = true
	}
	own["rigSetup"] = !rigDone
	if slices.ContainsFunc(changes[0].Fields, func(name string) bool { return !own[name] }) {
		return nil
	}
	return changes[0].Fields
}

// moved lists what is after something else than before, among what is in
// both programs.
func moved(before, after *Program, is map[CodonID]place) []Change {
	was := map[CodonID]bool{}
	var old []place
	for _, p := range before.Hank.places {
		was[p.id()] = true
		if _, there := is[p.id()]; there {
			old = append(old, p)
		}
	}
	var changes []Change
	i := 0
	for _, p := range after.Hank.places {
		if !was[p.id()] {
			continue
		}
		if q := old[i]; q.id() != p.id() || loopID(q) != loopID(p) {
			changes = append(changes, Change{ID: p.id(), Kind: "moved"})
		}
		i++
	}
	return changes
}

func loopID(p place) CodonID {
	if p.inside == nil {
		return ""
	}
	return p.inside.ID
}

// part is what a codon, a loop without its codons, or the hank without its
// items consists of: its fields, and the digests of the files that they name.
func (p *Program) part(at place) map[string]string {
	var of any
	var files []string
	switch {
	case at.codon != nil:
		of, files = at.codon, p.filesOf(at.codon)
	case at.loop != nil:
		bare := *at.loop
		bare.Codons = nil
		of = bare
	default:
		bare := *p.Hank
		bare.Schema, bare.Meta, bare.Items = "", nil, nil // said to people and editors only
		of, files = bare, p.Hank.GlobalSystemPromptFile
	}
	fields := map[string]jsontext.Value{}
	if data, err := json.Marshal(of, json.Deterministic(true)); err == nil {
		_ = json.Unmarshal(data, &fields) // what was just written is an object
	}
	all := map[string]string{}
	for name, value := range fields {
		all[name] = string(value)
	}
	for _, f := range files {
		all[f] = p.digestUnder(path.Clean(f))
	}
	return all
}

// filesOf lists the files and directories that a codon names.
func (p *Program) filesOf(c *Codon) []string {
	files := slices.Concat(c.PromptFile, c.AppendSystemPromptFile, c.rigFiles())
	for _, s := range c.Sentinels {
		files = append(files, p.sentinelFiles(s)...)
	}
	return files
}

// rigFiles lists the files and directories that a codon's rig copies.
func (c *Codon) rigFiles() []string {
	var files []string
	for _, r := range c.RigSetup {
		if r.Copy != nil {
			files = append(files, r.Copy.From)
		}
	}
	return files
}

// sentinelFiles lists the configuration file of a sentinel and what it names.
func (p *Program) sentinelFiles(s Sentinel) []string {
	var files []string
	config, base := s.Config, "."
	if ref := s.ref(); ref != "" {
		files = append(files, ref)
		config, base = jsontext.Value(p.texts[path.Clean(ref)]), path.Dir(ref)
	}
	for _, f := range sentinel.Files(config) { // it was checked when the program was loaded
		files = append(files, path.Join(base, f))
	}
	return files
}

// digestUnder is the digest of a file, or of the names, modes and digests of
// all files of a directory.
func (p *Program) digestUnder(name string) string {
	var b strings.Builder
	if s := p.sources[name]; s != nil {
		for _, d := range s.Dirs {
			b.WriteString(d + "/\n")
		}
		for _, f := range s.Files {
			b.WriteString(f.Rel + " " + f.Mode.String() + " " + f.Digest + "\n")
		}
		return b.String()
	}
	if text, ok := p.texts[name]; ok {
		return tree.DigestOf([]byte(text))
	}
	return ""
}

// differing lists the keys whose values differ, sorted.
func differing(a, b map[string]string) []string {
	var keys []string
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			keys = append(keys, k)
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
