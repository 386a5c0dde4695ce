package diff

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/utils/diff"
	"github.com/sergi/go-diff/diffmatchpatch"

	"hank/checkpoint/packdb"
)

const (
	// sniffLen is how far git looks for a NUL byte, which makes a file binary.
	sniffLen = 8000
	// maxText bounds the files that are compared by line, as git's
	// core.bigFileThreshold does; larger ones are treated as binary.
	maxText = 32 << 20
	// maxLines bounds what go-diff compares: it maps lines to code points,
	// of which there are 1.1 million. Longer texts are replaced as a whole.
	maxLines = 1 << 20
	// lineDiffTime bounds the search for a short difference of two files;
	// what it has not compared by then is replaced as a whole.
	lineDiffTime = 5 * time.Second
)

// edit is a run of lines, with their line ends: in both texts if op is a
// space, only in the first if it is '-', only in the second if it is '+'.
type edit struct {
	op    byte
	lines []string
}

// lineEdits returns the edits that make b out of a.
func lineEdits(a, b string) []edit {
	if strings.Count(a, "\n")+strings.Count(b, "\n") >= maxLines {
		return []edit{{'-', splitLines(a)}, {'+', splitLines(b)}}
	}
	ops := map[diffmatchpatch.Operation]byte{diffmatchpatch.DiffEqual: ' ', diffmatchpatch.DiffDelete: '-', diffmatchpatch.DiffInsert: '+'}
	var edits []edit
	for _, d := range diff.DoWithTimeout(a, b, lineDiffTime) {
		if d.Text != "" {
			edits = append(edits, edit{ops[d.Type], splitLines(d.Text)})
		}
	}
	return edits
}

func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// content is one side of a change, ready to be compared by line.
type content struct {
	text   string
	binary bool
}

// load reads what e holds: nothing, a file, a symlink's target, or the line
// that git shows for a submodule. A binary file's content is not returned.
func load(st storer.EncodedObjectStorer, e Entry) (content, error) {
	switch e.Mode {
	case filemode.Empty:
		return content{}, nil
	case filemode.Submodule:
		return content{text: fmt.Sprintf("Subproject commit %s\n", e.Blob)}, nil
	}
	r, size, err := OpenBlob(st, e.Blob)
	if err != nil {
		return content{}, err
	}
	defer r.Close()
	if size > maxText {
		return content{binary: true}, nil
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return content{}, fmt.Errorf("read blob %s from the store: %w", e.Blob, err)
	}
	if bytes.IndexByte(data[:min(len(data), sniffLen)], 0) >= 0 {
		return content{binary: true}, nil
	}
	return content{text: string(data)}, nil
}

// OpenBlob opens a blob of st; size is in bytes. The content's end comes only
// if it has the blob's id: what a store of ours hands out is verified anyway.
func OpenBlob(st storer.EncodedObjectStorer, sha packdb.SHA) (r io.ReadCloser, size int64, err error) {
	id := plumbing.NewHash(string(sha))
	blob, err := st.EncodedObject(plumbing.BlobObject, id)
	if err == nil {
		r, err = blob.Reader()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read blob %s from the store: %w", sha, err)
	}
	size = blob.Size()
	if _, ours := blob.(*packdb.GitObject); !ours {
		r = &packdb.Verifier{R: r, Size: size, H: packdb.NewObjectHash(plumbing.BlobObject, size), ID: id, Done: r.Close}
	}
	return r, size, nil
}

// FileStat counts what a change adds to a file and takes from it, in lines.
type FileStat struct {
	Path           string
	Added, Deleted int
	Binary         bool // not counted
}

// Stat counts the lines of each change, in order.
func Stat(st storer.EncodedObjectStorer, changes []Change) ([]FileStat, error) {
	stats := make([]FileStat, len(changes))
	for i, c := range changes {
		from, to, err := loadBoth(st, c)
		if err != nil {
			return nil, err
		}
		s := FileStat{Path: c.Path, Binary: from.binary || to.binary}
		if !s.Binary && c.From.Blob != c.To.Blob {
			s.Added, s.Deleted = countEdits(c, from.text, to.text)
		}
		stats[i] = s
	}
	return stats, nil
}

func countEdits(c Change, from, to string) (added, deleted int) {
	edits := []edit{{'-', splitLines(from)}, {'+', splitLines(to)}}
	if c.Kind == Modified {
		edits = lineEdits(from, to)
	}
	for _, e := range edits {
		switch e.op {
		case '+':
			added += len(e.lines)
		case '-':
			deleted += len(e.lines)
		}
	}
	return added, deleted
}

func loadBoth(st storer.EncodedObjectStorer, c Change) (from, to content, err error) {
	if from, err = load(st, c.From); err == nil {
		to, err = load(st, c.To)
	}
	if err != nil {
		err = fmt.Errorf("compare %q: %w", c.Path, err)
	}
	return from, to, err
}
