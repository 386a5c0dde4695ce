package plan

import (
	"cmp"
	"io"
	"io/fs"
	"path"
	"time"

	"hank/plan/config"
	"hank/plan/model"
	"hank/plan/steps"
)

// HankDir is the directory of a hank. Files of it are looked at with fs.Lstat
// before they are opened, so it should be an fs.ReadLinkFS where symbolic
// links and FIFOs are possible; os.DirFS and (*os.Root).FS are.
type HankDir = fs.FS

// Program is a hank with everything that it refers to. It is never changed
// after it was loaded and may be used by several goroutines.
type Program struct {
	Hank     *Hank           // models are resolved
	Name     string          // the file's name in the directory of the hank
	Settings config.Settings // those of the hank with the layers around it
	Model    string          // that the command line gave all codons when it was loaded, or frozen
	Files    []File          // everything that it refers to and the hank itself, by path

	loops   map[CodonID]*Loop
	codons  map[CodonID]*Codon
	texts   map[string]string    // of files that were read, by path in the directory of the hank
	sources map[string]*Source   // of copies, by path in the directory of the hank
	models  map[string]model.Ref // by name in hank.json

	digests func() map[string]string // texts by digest, made when first needed
}

// Source is what a copy operation copies.
type Source struct {
	Dir   bool         // a directory; else Files has one entry with Rel ""
	Dirs  []string     // directories inside, parents first, relative to the source
	Files []SourceFile // sorted by Rel

	byName map[string]bool // filled when first needed
}

// SourceFile is a file of a copy, with its path relative to the source.
type SourceFile struct {
	Rel string
	File
}

// File is one file of a program, with its path in the frozen tree.
type File struct {
	Path   string      // hank/prompts/write.md
	Mode   fs.FileMode // 0644 or 0755
	Size   int64
	Digest string // sha256:… of the content

	open func() (io.ReadCloser, error)
}

// Open opens the file's content. Of a program that was not frozen it is what
// the author's file holds now.
func (f File) Open() (io.ReadCloser, error) { return f.open() }

// Loop is the loop of an id, or nil.
func (p *Program) Loop(id CodonID) *Loop { return p.loops[id] }

// Codon is the codon of an id in hank.json (not of an iteration), or nil.
func (p *Program) Codon(id CodonID) *Codon { return p.codons[id] }

// Source is what a copy operation of the program copies; from is as it is
// in the rig.
func (p *Program) Source(from string) (*Source, bool) {
	s, ok := p.sources[path.Clean(from)]
	return s, ok
}

// UsageLimit is what follows when a codon's provider cannot answer for a while, and how
// long that is waited out at the most.
func (p *Program) UsageLimit(c *Codon) (wait bool, longest time.Duration) {
	on := cmp.Or(c.OnUsageLimit, p.Settings.OnUsageLimit, steps.Wait)
	return on == steps.Wait, steps.Seconds(cmp.Or(c.MaxUsageLimitWait, p.Settings.MaxUsageLimitWait, steps.LongestWait.Seconds()))
}

// IdleTimeout is how long the codon's agent may show no sign of life; 0 leaves
// it to the harness.
func (p *Program) IdleTimeout(c *Codon) time.Duration {
	if c.ShimIdleTimeout > 0 {
		return time.Duration(c.ShimIdleTimeout) * time.Second
	}
	return time.Duration(p.Settings.ShimIdleTimeout) * time.Second
}
