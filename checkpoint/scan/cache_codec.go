package scan

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"errors"

	"hank/checkpoint/packdb"
)

// cacheHeader says what a cache on disk was made for.
type cacheHeader struct {
	Version   int
	Workspace string
	Boot      string
	Packs     []string // the packs that hold the blobs
}

const cacheVersion = 5

var errStaleCache = errors.New("the stat cache is of another time")

// isDir marks a directory among the flags of an entry on disk.
const isDir = 1 << 7

// encode returns the cache as bytes: a header, the directories from the root down,
// each before its subdirectories, and a checksum.
func (c *statCache) encode(h cacheHeader) ([]byte, error) {
	var b bytes.Buffer
	h.Version = cacheVersion
	if err := gob.NewEncoder(&b).Encode(h); err != nil {
		return nil, err
	}
	out := binary.LittleEndian.AppendUint32(nil, uint32(b.Len()))
	out = append(out, b.Bytes()...)
	if c.Root != nil {
		out = c.Root.append(out)
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...), nil
}

func (d *CachedDir) append(out []byte) []byte {
	out = binary.LittleEndian.AppendUint64(out, d.device)
	out = append(out, d.Tree[:]...)
	out = d.listed.append(out)
	out = binary.AppendUvarint(out, uint64(len(d.Others)))
	for _, o := range d.Others {
		out = binary.AppendUvarint(out, uint64(len(o.name)))
		out = append(out, o.name...)
		kind := byte(0)
		if o.dir {
			kind = isDir
		}
		out = append(out, kind)
	}
	out = binary.AppendUvarint(out, uint64(len(d.Entries)))
	for i := range d.Entries {
		e := &d.Entries[i]
		out = binary.AppendUvarint(out, uint64(len(e.Name)))
		out = append(out, e.Name...)
		if e.Sub != nil {
			out = append(out, byte(e.Flags)|isDir)
			continue
		}
		out = append(out, byte(e.Flags))
		out = e.stat.append(out)
		out = append(out, e.Blob[:]...)
	}
	for i := range d.Entries {
		if sub := d.Entries[i].Sub; sub != nil {
			out = sub.append(out)
		}
	}
	return out
}

func (f *fingerprint) append(out []byte) []byte {
	out = binary.AppendUvarint(out, uint64(f.size))
	out = binary.LittleEndian.AppendUint64(out, uint64(f.mtime))
	out = binary.LittleEndian.AppendUint64(out, uint64(f.ctime))
	out = binary.AppendUvarint(out, f.inode)
	return binary.AppendUvarint(out, uint64(f.mode))
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
	head := int64(binary.LittleEndian.Uint32(body))
	if head > int64(len(body)-4) {
		return nil, h, errStaleCache
	}
	if err := gob.NewDecoder(bytes.NewReader(body[4 : 4+head])).Decode(&h); err != nil || h.Version != cacheVersion {
		return nil, h, errStaleCache
	}
	rest := body[4+head:]
	r := &cacheReader{rest: rest, text: string(rest)}
	c := &statCache{}
	if len(rest) > 0 {
		c.Root = r.dir()
	}
	if r.bad || len(r.rest) > 0 {
		return nil, h, errStaleCache
	}
	return c, h, nil
}

// cacheReader decodes directories. Names are parts of one string, because one
// allocation for each would take as long as all the rest.
type cacheReader struct {
	rest []byte
	text string // what rest was at first
	bad  bool
}

func (r *cacheReader) dir() *CachedDir {
	device := r.fixed()
	var tree [packdb.HashSize]byte
	copy(tree[:], r.take(packdb.HashSize))
	listed := r.fingerprint()
	var others []otherName
	if n := r.count(); n > 0 {
		others = make([]otherName, n)
	}
	for i := range others {
		others[i].name = r.name()
		if b := r.take(1); b != nil {
			others[i].dir = b[0] != 0
		}
	}
	entries := make([]cachedEntry, r.count())
	for i := range entries {
		r.entry(&entries[i])
	}
	for i := range entries {
		if entries[i].Sub == nil {
			continue
		}
		if r.bad {
			return nil
		}
		entries[i].Sub = r.dir()
	}
	if r.bad {
		return nil
	}
	d := newCachedDir(device, entries)
	d.Tree, d.listed, d.Others = tree, listed, others
	return d
}

// pendingDir stands for a directory that comes later in the data.
var pendingDir = &CachedDir{}

func (r *cacheReader) entry(e *cachedEntry) {
	e.Name = r.name()
	b := r.take(1)
	if b == nil {
		return
	}
	e.Flags = entryFlags(b[0] &^ isDir)
	if b[0]&isDir != 0 {
		e.Sub = pendingDir
		return
	}
	e.stat = r.fingerprint()
	copy(e.Blob[:], r.take(packdb.HashSize))
}

func (r *cacheReader) fingerprint() (f fingerprint) {
	f.size = int64(r.number())
	f.mtime, f.ctime = int64(r.fixed()), int64(r.fixed())
	f.inode, f.mode = r.number(), uint32(r.number())
	return f
}

// name reads what can be a name in a directory.
func (r *cacheReader) name() string {
	size := r.number()
	at := uint64(len(r.text) - len(r.rest))
	b := r.take(size)
	if len(b) == 0 || bytes.IndexByte(b, 0) >= 0 || bytes.IndexByte(b, '/') >= 0 || string(b) == "." || string(b) == ".." {
		r.bad = true
		return ""
	}
	return r.text[at : at+size]
}

// count returns how many items follow, each of more than a byte.
func (r *cacheReader) count() int {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad = true
		return 0
	}
	return int(n)
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

// take returns the next n bytes, or nil if there are not so many left.
func (r *cacheReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *cacheReader) fixed() uint64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}
