package lines

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hank/internal/vfs"
)

// stride is how many lines there are between two indexed ones.
const stride = 128

// index has where lines begin. Its zero value is that of an empty file.
type index struct {
	offsets []int64 // of the lines 0, stride, 2*stride …
	lines   int     // complete ones
	end     int64   // after the last complete one
}

// add takes in what comes next in the file; a line whose end is not in it is left out.
func (x *index) add(part []byte, at int64) {
	for {
		n := bytes.IndexByte(part, '\n')
		if n < 0 {
			return
		}
		if x.lines%stride == 0 {
			x.offsets = append(x.offsets, x.end)
		}
		at += int64(n) + 1
		x.lines, x.end, part = x.lines+1, at, part[n+1:]
	}
}

// begin is where an indexed line at or before a line begins, and which that is.
func (x *index) begin(line int) (offset int64, first int) {
	if line >= x.lines && x.lines%stride == 0 || len(x.offsets) == 0 {
		return x.end, x.lines
	}
	i := min(line/stride, len(x.offsets)-1)
	return x.offsets[i], i * stride
}

// magic begins a saved index. A change of its form changes the number.
const magic = "hank line index 1\n"

// lastBytes is how much of the end of what is indexed is compared before a saved index is
// taken for that of a file.
const lastBytes = 4 << 10

// errMisfit says that a saved index is not one of the file as it is.
var errMisfit = errors.New("the index does not fit the file")

// encode writes an index of a file whose identity is known.
func (x *index) encode(id vfs.Identity, last []byte) []byte {
	sum := sha256.Sum256(last)
	out := append([]byte(magic), sum[:]...)
	for _, n := range []uint64{id.Device, id.Inode, uint64(x.lines), uint64(x.end), uint64(len(x.offsets))} {
		out = binary.LittleEndian.AppendUint64(out, n)
	}
	for _, at := range x.offsets {
		out = binary.LittleEndian.AppendUint64(out, uint64(at))
	}
	all := sha256.Sum256(out)
	return append(out, all[:]...)
}

// decode reads what encode has written.
func decode(text []byte, id vfs.Identity) (x index, last [sha256.Size]byte, err error) {
	const head = len(magic) + sha256.Size + 5*8
	if len(text) < head+sha256.Size || string(text[:len(magic)]) != magic {
		return x, last, errMisfit
	}
	body := text[:len(text)-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], text[len(body):]) {
		return x, last, errMisfit
	}
	copy(last[:], body[len(magic):])
	var n [5]uint64
	for i := range n {
		n[i] = binary.LittleEndian.Uint64(body[len(magic)+sha256.Size+8*i:])
	}
	if n[0] != id.Device || n[1] != id.Inode || int64(n[3]) > id.Size || uint64(len(body)-head) != 8*n[4] || (n[2]+stride-1)/stride != n[4] {
		return x, last, errMisfit
	}
	x.lines, x.end = int(n[2]), int64(n[3])
	for i := range int(n[4]) {
		x.offsets = append(x.offsets, int64(binary.LittleEndian.Uint64(body[head+8*i:])))
	}
	return x, last, nil
}

// worthSaving is how large a file is at least whose index is saved: a smaller one is read in a
// few milliseconds.
const worthSaving = 1 << 20

// saved is where the index of a file is saved in a directory.
func saved(dir, name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(dir, fmt.Sprintf("lines-%x", sum[:8]))
}

// load takes the saved index, where it fits the file.
func (f *File) load() {
	id, told := f.identity()
	if f.dir == "" || !told {
		return
	}
	text, err := os.ReadFile(saved(f.dir, f.name))
	if err != nil {
		return
	}
	x, last, err := decode(text, id)
	if err != nil {
		return
	}
	part, err := f.before(x.end)
	if err == nil && sha256.Sum256(part) == last {
		f.index, f.kept = x, x.end
	}
}

// save saves the index, where that is worth it and the directory is there and may be written.
// It is best effort: an index that is not saved is built again.
func (f *File) save() {
	id, told := f.identity()
	if f.dir == "" || !told || f.index.end-f.kept < worthSaving {
		return
	}
	if fi, err := os.Stat(f.dir); err != nil || !fi.IsDir() { // whoever has removed it wants no index
		return
	}
	part, err := f.before(f.index.end)
	if err != nil {
		return
	}
	if vfs.ReplaceFile(vfs.OS, saved(f.dir, f.name), f.index.encode(id, part), 0o600, vfs.Volatile) == nil {
		f.kept = f.index.end
	}
}

func (f *File) identity() (vfs.Identity, bool) {
	fi, err := f.file.Stat()
	if err != nil {
		return vfs.Identity{}, false
	}
	return vfs.IdentityOf(fi)
}

// before are the bytes before a place, as many as are compared.
func (f *File) before(end int64) ([]byte, error) {
	from := max(0, end-lastBytes)
	return io.ReadAll(io.NewSectionReader(f.file, from, end-from))
}
