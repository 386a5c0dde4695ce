package diff

import (
	"bufio"
	"compress/zlib"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"hank/checkpoint/packdb"
)

// contextLines is how many unchanged lines a hunk shows around a change.
const contextLines = 3

// noSHA is in a patch for the blob that is not there.
const noSHA packdb.SHA = "0000000000000000000000000000000000000000"

// WritePatch writes changes in git's extended diff format, as
// "git diff --binary --full-index --no-renames" does, so that "git apply
// --binary" takes it. (go-git's own encoder leaves out binary content and does
// not quote names.) A path that git takes for its own is written as it is in
// the workspace, and git will refuse it.
func WritePatch(w io.Writer, st storer.EncodedObjectStorer, changes []Change) error {
	p := patcher{w: bufio.NewWriter(w), st: st}
	for _, c := range changes {
		parts := []Change{c}
		if c.Kind == TypeChanged {
			parts = []Change{
				{Path: c.Path, Kind: Deleted, From: c.From},
				{Path: c.Path, Kind: Added, To: c.To},
			}
		}
		for _, part := range parts {
			if err := p.file(part); err != nil {
				return fmt.Errorf("write the patch of %q: %w", c.Path, err)
			}
		}
	}
	return p.w.Flush()
}

// patcher writes a patch. Its writer keeps the first error until Flush.
type patcher struct {
	w  *bufio.Writer
	st storer.EncodedObjectStorer
}

func (p *patcher) file(c Change) error {
	p.header(c)
	if c.From.Blob == c.To.Blob {
		return nil // only the mode
	}
	from, to, err := loadBoth(p.st, c)
	if err != nil {
		return err
	}
	if from.binary || to.binary {
		return p.binary(c)
	}
	if from.text == to.text {
		return nil // an empty file comes or goes
	}
	p.text(c, lineEdits(from.text, to.text))
	return nil
}

// header writes the lines up to and with "index".
func (p *patcher) header(c Change) {
	fmt.Fprintf(p.w, "diff --git %s %s\n", quoteName("a/"+c.Path), quoteName("b/"+c.Path))
	from, to := c.From.Blob, c.To.Blob
	modes := ""
	switch {
	case c.Kind == Added:
		from = noSHA
		fmt.Fprintf(p.w, "new file mode %s\n", patchMode(c.To.Mode))
	case c.Kind == Deleted:
		to = noSHA
		fmt.Fprintf(p.w, "deleted file mode %s\n", patchMode(c.From.Mode))
	case c.From.Mode != c.To.Mode:
		fmt.Fprintf(p.w, "old mode %s\nnew mode %s\n", patchMode(c.From.Mode), patchMode(c.To.Mode))
	default:
		modes = " " + patchMode(c.To.Mode)
	}
	if from != to {
		fmt.Fprintf(p.w, "index %s..%s%s\n", from, to, modes)
	}
}

func patchMode(m filemode.FileMode) string { return fmt.Sprintf("%06o", uint32(m)) }

// text writes the hunks of a change of lines.
func (p *patcher) text(c Change, edits []edit) {
	from, to := quoteName("a/"+c.Path), quoteName("b/"+c.Path)
	if c.Kind == Added {
		from = "/dev/null"
	}
	if c.Kind == Deleted {
		to = "/dev/null"
	}
	fmt.Fprintf(p.w, "--- %s\n+++ %s\n", tabAfterSpace(from), tabAfterSpace(to))
	for _, h := range hunks(edits) {
		fmt.Fprintf(p.w, "@@ -%s +%s @@\n", lineRange(h.from, h.fromLen), lineRange(h.to, h.toLen))
		for _, e := range h.edits {
			for _, line := range e.lines {
				p.w.WriteByte(e.op)
				p.w.WriteString(line)
				if !strings.HasSuffix(line, "\n") {
					p.w.WriteString("\n\\ No newline at end of file\n")
				}
			}
		}
	}
}

// hunk is a group of edits that are close to each other, with context. from
// and to count the lines of the two texts that are before it.
type hunk struct {
	from, fromLen, to, toLen int
	edits                    []edit
}

func (h *hunk) add(e edit) {
	if len(e.lines) == 0 {
		return
	}
	if e.op != '+' {
		h.fromLen += len(e.lines)
	}
	if e.op != '-' {
		h.toLen += len(e.lines)
	}
	h.edits = append(h.edits, e)
}

// hunks groups edits: a run of more than twice the context ends a hunk.
func hunks(edits []edit) []hunk {
	var out []hunk
	var h *hunk
	from, to := 0, 0 // lines before the present edit
	for i, e := range edits {
		if e.op != ' ' {
			if h == nil {
				out = append(out, hunk{from: from, to: to})
				h = &out[len(out)-1]
			}
			h.add(e)
		} else {
			n, last := len(e.lines), i == len(edits)-1
			switch {
			case h != nil && !last && n <= 2*contextLines:
				h.add(e)
			default:
				if h != nil {
					h.add(edit{' ', e.lines[:min(n, contextLines)]})
				}
				h = nil
				if !last {
					lead := min(n, contextLines)
					out = append(out, hunk{from: from + n - lead, to: to + n - lead})
					h = &out[len(out)-1]
					h.add(edit{' ', e.lines[n-lead:]})
				}
			}
		}
		if e.op != '+' {
			from += len(e.lines)
		}
		if e.op != '-' {
			to += len(e.lines)
		}
	}
	return out
}

// lineRange writes a range of n lines after the first before ones; an empty
// range names the line that it follows.
func lineRange(before, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", before)
	case 1:
		return fmt.Sprint(before + 1)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}

// binary writes both contents whole, the new one first, so that the patch can
// be applied and taken back.
func (p *patcher) binary(c Change) error {
	p.w.WriteString("GIT binary patch\n")
	for _, e := range []Entry{c.To, c.From} {
		if err := p.literal(e); err != nil {
			return err
		}
	}
	return nil
}

// literal writes a blob deflated, in lines of base 85 that each begin with
// their length, and ends with an empty line.
func (p *patcher) literal(e Entry) error {
	r, size := io.ReadCloser(io.NopCloser(strings.NewReader(""))), int64(0)
	if e.Blob != "" {
		var err error
		if r, size, err = OpenBlob(p.st, e.Blob); err != nil {
			return err
		}
	}
	defer r.Close()
	fmt.Fprintf(p.w, "literal %d\n", size)
	lines := &base85Lines{w: p.w}
	z := zlib.NewWriter(lines)
	if _, err := io.Copy(z, r); err != nil {
		return fmt.Errorf("copy blob %s: %w", e.Blob, err)
	}
	if err := z.Close(); err != nil {
		return err
	}
	lines.flush()
	return p.w.WriteByte('\n')
}

// base85Lines encodes what is written to it as git's base85.c does.
type base85Lines struct {
	w    *bufio.Writer
	line [52]byte
	n    int
}

const base85Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

func (l *base85Lines) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := copy(l.line[l.n:], rest)
		l.n, rest = l.n+n, rest[n:]
		if l.n == len(l.line) {
			l.flush()
		}
	}
	return len(b), nil
}

// flush ends a line, if there is anything in it.
func (l *base85Lines) flush() {
	if l.n == 0 {
		return
	}
	length := byte('A' + l.n - 1)
	if l.n > 26 {
		length = byte('a' + l.n - 27)
	}
	l.w.WriteByte(length)
	clear(l.line[l.n:])
	for i := 0; i < l.n; i += 4 {
		v := uint32(l.line[i])<<24 | uint32(l.line[i+1])<<16 | uint32(l.line[i+2])<<8 | uint32(l.line[i+3])
		var digits [5]byte
		for d := 4; d >= 0; d-- {
			digits[d] = base85Digits[v%85]
			v /= 85
		}
		l.w.Write(digits[:])
	}
	l.w.WriteByte('\n')
	l.n = 0
}

// quoteName writes a name as git does with core.quotePath on: as it is, or in
// quotes, with escapes as in C and bytes from 0x80 up in octal.
func quoteName(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	plain := true
	for i := range len(name) {
		c := name[i]
		if e := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c); e >= 0 {
			b.WriteByte('\\')
			b.WriteByte(`abtnvfr"\`[e])
			plain = false
		} else if c < 0x20 || c >= 0x7f {
			fmt.Fprintf(&b, `\%03o`, c)
			plain = false
		} else {
			b.WriteByte(c)
		}
	}
	if plain {
		return name
	}
	b.WriteByte('"')
	return b.String()
}

// tabAfterSpace marks the end of a name with a space in it, as git does.
func tabAfterSpace(name string) string {
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}
