package plan

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/plan/model"
	"hank/plan/tree"
)

// The frozen program is a tree of files: everything that the hank refers to
// under hank/, and program.json, which says what is there and which models the
// names stand for. It is enough to build the same Program again when the
// author's files have changed or are gone.
const (
	frozenDir     = "hank/"
	manifestPath  = "program.json"
	frozenVersion = 2

	// versionOfAgents is the first whose models can ask for an agent or an effort. A
	// program without them is written as the one before, which older hanks read.
	versionOfAgents = 2
)

// manifest is the content of program.json.
type manifest struct {
	Schema   int                  `json:"schema"`
	Hank     string               `json:"hank"`           // the name of the hank's own file
	Settings config.Settings      `json:"settings"`       // with the layers around the hank merged in
	Models   map[string]model.Ref `json:"models"`         // by the name in hank.json
	Model    string               `json:"model,omitzero"` // as in Program
	Files    []tree.File          `json:"files"`
	Dirs     []string             `json:"dirs,omitzero"` // directories, those that a git tree cannot hold included
}

// Frozen returns the files of the frozen program: Files, and the one that says
// what they are. Equal programs have equal frozen files.
func (p *Program) Frozen() ([]File, error) {
	m := manifest{Schema: p.version(), Hank: p.Name, Settings: p.Settings, Models: p.models, Model: p.Model}
	for _, f := range p.Files {
		m.Files = append(m.Files, tree.File{Path: strings.TrimPrefix(f.Path, frozenDir), Exec: f.Mode&0o111 != 0, Size: f.Size, Digest: f.Digest})
	}
	for name, s := range p.sources {
		if s.Dir {
			m.Dirs = append(m.Dirs, name)
		}
		for _, d := range s.Dirs {
			m.Dirs = append(m.Dirs, path.Join(name, d))
		}
	}
	slices.Sort(m.Dirs)
	m.Dirs = slices.Compact(m.Dirs)
	data, err := json.Marshal(m, json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		return nil, fmt.Errorf("describe the program for freezing: %w", err)
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return append(slices.Clone(p.Files), File{Path: manifestPath, Mode: 0o644, Size: int64(len(data)), Digest: tree.DigestOf(data), open: open}), nil
}

// version is the schema of the program when it is frozen.
func (p *Program) version() int {
	for _, ref := range p.models {
		if ref.HarnessOverride != "" || ref.Effort != "" {
			return versionOfAgents
		}
	}
	return 1
}

// NewerError says that a frozen program was written by a newer hank.
type NewerError struct{ Schema int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("the frozen program has schema %d, this hank reads up to %d: use a newer hank", e.Schema, frozenVersion)
}

// Thaw builds a Program from its frozen files. open returns the content of a
// file by its path in the frozen tree; digests are checked when a file is
// read. What only warns was said when the hank was loaded and is not said again.
func Thaw(open func(path string) ([]byte, error)) (*Program, error) {
	data, err := open(manifestPath)
	if err != nil {
		return nil, fmt.Errorf("read the frozen program: %w", err)
	}
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &version); err == nil && version.Schema > frozenVersion {
		return nil, &NewerError{version.Schema}
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("read the frozen program: %s: %w", manifestPath, err)
	}
	l := &loader{source: tree.Frozen(m.Dirs, m.Files, func(name string) ([]byte, error) { return open(frozenDir + name) }), frozen: true, lookup: func(name string) (model.Ref, error) {
		if ref, ok := m.Models[name]; ok {
			return ref, nil
		}
		return model.Lookup(model.Default, name)
	}}
	p, ds := l.program(m.Hank, config.Layers{Flags: m.Settings})
	if p == nil {
		return nil, fmt.Errorf("the frozen program is damaged:\n%s", strings.TrimSpace(diagnostic.Text(errorsOf(ds))))
	}
	p.Settings, p.Model = m.Settings, m.Model
	return p, nil
}

// Outline is a hank as far as lists of executions tell of it.
type Outline struct {
	Name  string // that it gives itself; empty if it has none
	Items []Item
}

// FrozenOutline is OutlineOf of a frozen program. It reads no more than it needs of what Thaw reads.
func FrozenOutline(open func(path string) ([]byte, error)) (o Outline) {
	var m struct {
		Hank string `json:"hank"`
	}
	if data, err := open(manifestPath); err != nil || json.Unmarshal(data, &m) != nil {
		return o
	}
	text, _ := open(frozenDir + m.Hank)
	return OutlineOf(text)
}

// OutlineOf reads the text of a hank. Of what cannot be read it knows nothing.
func OutlineOf(text []byte) (o Outline) {
	var hank struct {
		Meta struct {
			Name string `json:"name"`
		} `json:"meta"`
		Items []outlined `json:"hank"`
	}
	if json.Unmarshal(text, &hank) != nil {
		return o
	}
	o.Name = hank.Meta.Name
	for _, at := range hank.Items {
		o.Items = append(o.Items, at.item())
	}
	return o
}

// outlined is a codon or a loop as far as Extent asks for it.
type outlined struct {
	Type        string         `json:"type"`
	ID          CodonID        `json:"id"`
	TerminateOn TerminateOn    `json:"terminateOn"`
	Codons      []outlined     `json:"codons"`
	Budget      jsontext.Value `json:"budget"`
}

func (o outlined) item() Item {
	if o.Type != "loop" {
		c := &Codon{ID: o.ID}
		if len(o.Budget) > 0 {
			c.Budget = &CodonBudget{}
		}
		return Item{Codon: c}
	}
	l := &Loop{ID: o.ID, TerminateOn: o.TerminateOn}
	if len(o.Budget) > 0 {
		l.Budget = &Budget{}
	}
	for _, c := range o.Codons {
		l.Codons = append(l.Codons, *c.item().Codon)
	}
	return Item{Loop: l}
}

func errorsOf(ds []diagnostic.Diagnostic) []diagnostic.Diagnostic {
	return slices.DeleteFunc(slices.Clone(ds), func(d diagnostic.Diagnostic) bool { return d.Severity != diagnostic.Error })
}
