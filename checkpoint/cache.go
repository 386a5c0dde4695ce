package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/internal/vfs"
)

// statCache remembers, for each file of the workspace, what lstat said when
// its content was hashed, so that a file with the same answer need not be read
// again. The answer holds the change time, which no program can set back, so
// that a file of the same size with its old modification time does not pass.
//
// It is a projection: without it, or with one that is damaged, of another boot
// (after a power cut sizes and times may survive where content does not) or of
// other packs, everything is read once.
type statCache struct {
	dirs map[string]*cachedDir // by path, "" is the root
}

type cachedDir struct {
	device uint64
	tree   plumbing.Hash // the tree that the store has for it
	files  []cachedFile  // sorted by name
}

// cachedFile is one file: the fingerprint of its lstat, and the blob.
type cachedFile struct {
	name string
	stat fingerprint
	blob plumbing.Hash
	// young: it was changed so shortly before it was read that a later change
	// may have the same times. It is read again next time.
	young bool
	// escaped: it is stored under an escaped name because of its content.
	escaped bool
}

// fingerprint is what of lstat tells that a file was not touched.
type fingerprint struct {
	size, mtime, ctime int64 // bytes, nanoseconds
	inode              uint64
	mode               uint32
}

func (d *cachedDir) find(name string) *cachedFile {
	if d == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(d.files, name, func(f cachedFile, name string) int { return strings.Compare(f.name, name) })
	if !ok {
		return nil
	}
	return &d.files[i]
}

// cacheHeader says what a cache on disk was made for.
type cacheHeader struct {
	Version   int
	Workspace string
	Boot      string
	Packs     []string // the packs that hold the blobs
}

const cacheVersion = 1

var errStaleCache = errors.New("the stat cache is of another time")

// encode returns the cache as bytes: a header, the entries, a checksum.
func (c *statCache) encode(h cacheHeader) ([]byte, error) {
	var b bytes.Buffer
	h.Version = cacheVersion
	if err := gob.NewEncoder(&b).Encode(h); err != nil {
		return nil, err
	}
	head := b.Len()
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, head+64*len(c.dirs)), uint32(head))
	out = append(out, b.Bytes()...)
	for path, d := range c.dirs {
		out = appendText(out, path)
		out = binary.LittleEndian.AppendUint64(out, d.device)
		out = append(out, d.tree[:]...)
		out = binary.AppendUvarint(out, uint64(len(d.files)))
		for i := range d.files {
			f := &d.files[i]
			out = appendText(out, f.name)
			out = binary.AppendUvarint(out, uint64(f.stat.size))
			out = binary.LittleEndian.AppendUint64(out, uint64(f.stat.mtime))
			out = binary.LittleEndian.AppendUint64(out, uint64(f.stat.ctime))
			out = binary.AppendUvarint(out, f.stat.inode)
			out = binary.AppendUvarint(out, uint64(f.stat.mode))
			out = append(out, f.blob[:]...)
			out = append(out, flag(f.young)|flag(f.escaped)<<1)
		}
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...), nil
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeCache is the inverse of encode. Anything wrong is an error.
func decodeCache(data []byte) (*statCache, cacheHeader, error) {
	var h cacheHeader
	if len(data) < 4+sha256.Size {
		return nil, h, errStaleCache
	}
	body := data[:len(data)-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[len(body):]) {
		return nil, h, errors.New("the stat cache is damaged")
	}
	head := int(binary.LittleEndian.Uint32(body))
	if head > len(body)-4 {
		return nil, h, errStaleCache
	}
	if err := gob.NewDecoder(bytes.NewReader(body[4 : 4+head])).Decode(&h); err != nil || h.Version != cacheVersion {
		return nil, h, errStaleCache
	}
	r := &cacheReader{rest: body[4+head:]}
	c := &statCache{dirs: map[string]*cachedDir{}}
	for len(r.rest) > 0 && !r.bad {
		path := r.text()
		d := &cachedDir{device: r.fixed()}
		copy(d.tree[:], r.take(20))
		n := r.number()
		if n > uint64(len(r.rest)) {
			return nil, h, errStaleCache
		}
		d.files = make([]cachedFile, n)
		for i := range d.files {
			d.files[i] = r.file()
		}
		c.dirs[path] = d
	}
	if r.bad {
		return nil, h, errStaleCache
	}
	return c, h, nil
}

type cacheReader struct {
	rest []byte
	bad  bool
}

func (r *cacheReader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *cacheReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *cacheReader) text() string { return string(r.take(r.number())) }

func (r *cacheReader) fixed() uint64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func (r *cacheReader) file() cachedFile {
	f := cachedFile{name: r.text()}
	f.stat.size = int64(r.number())
	f.stat.mtime, f.stat.ctime = int64(r.fixed()), int64(r.fixed())
	f.stat.inode, f.stat.mode = r.number(), uint32(r.number())
	copy(f.blob[:], r.take(20))
	if b := r.take(1); b != nil {
		f.young, f.escaped = b[0]&1 != 0, b[0]&2 != 0
	}
	return f
}

// readCache returns the cache in a file, if it fits this workspace, boot and
// set of packs; else an empty one.
func readCache(fsys vfs.FS, name string, want cacheHeader) *statCache {
	empty := &statCache{dirs: map[string]*cachedDir{}}
	if name == "" || want.Boot == "" {
		return empty
	}
	data, err := vfs.ReadFile(fsys, name)
	if err != nil {
		return empty
	}
	c, h, err := decodeCache(data)
	if err != nil || h.Workspace != want.Workspace || h.Boot != want.Boot {
		return empty
	}
	for _, p := range h.Packs {
		if !slices.Contains(want.Packs, p) {
			return empty
		}
	}
	return c
}

// clockTick is added to what counts as young where the workspace's own clock
// cannot be read: more than the coarsest clock of a local file system.
const clockTick = 2 * time.Second
