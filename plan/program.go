package plan

import (
	"io"
	"io/fs"
)

// HankDir is the folder of a hank. Files of it are looked at with fs.Lstat
// before they are opened, so it should be an fs.ReadLinkFS where symbolic
// links and FIFOs are possible; os.DirFS and (*os.Root).FS are.
type HankDir = fs.FS

// Program is a hank with everything that it refers to.
type Program struct {
	Hank  *Hank
	Name  string // the file's name inside the folder of the hank
	Files []File

	loops  map[CodonID]*Loop
	codons map[CodonID]*Codon
}

// File is one file of a program, with a path as it stands in the frozen tree.
type File struct {
	Path   string
	Mode   fs.FileMode
	Size   int64
	Digest string // sha256:… of the content

	open func() (io.ReadCloser, error)
}

// Open opens the file's content.
func (f File) Open() (io.ReadCloser, error) { return f.open() }

func (p *Program) loop(id CodonID) *Loop { return p.loops[id] }

// Codon is the codon of an id in hank.json, or nil.
func (p *Program) Codon(id CodonID) *Codon { return p.codons[id] }
