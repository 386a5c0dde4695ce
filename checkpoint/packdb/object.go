package packdb

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint/packindex"
)

// SHA names a git object: 40 lower-case hexadecimal digits, or "" for none.
type SHA string

// InMemory bounds the objects that are read whole. Larger blobs stream.
const InMemory = 1 << 20

// HashSize is how many bytes an object's id has, and the checksum of a pack.
const HashSize = packindex.HashSize

// GitObject is a plumbing.EncodedObject that a store hands out: its content in
// memory, or a way to open a stream of it. It cannot be changed.
type GitObject struct {
	id    plumbing.Hash
	Kind  plumbing.ObjectType
	Bytes int64
	data  []byte
	Open  func() (io.ReadCloser, error) // nil: data is the content
}

var errReadOnlyObject = errors.New("an object of the store cannot be changed; make a new one")

// Hash returns the id of the object.
func (o *GitObject) Hash() plumbing.Hash { return o.id }

// Type returns the kind of the object.
func (o *GitObject) Type() plumbing.ObjectType { return o.Kind }

// SetType does nothing: the object cannot be changed.
func (o *GitObject) SetType(plumbing.ObjectType) {}

// Size returns how many bytes the content has.
func (o *GitObject) Size() int64 { return o.Bytes }

// SetSize does nothing: the object cannot be changed.
func (o *GitObject) SetSize(int64) {}

// Writer returns an error: the object cannot be changed.
func (o *GitObject) Writer() (io.WriteCloser, error) { return nil, errReadOnlyObject }

// Reader opens the content.
func (o *GitObject) Reader() (io.ReadCloser, error) {
	if o.Open != nil {
		return o.Open()
	}
	return struct {
		*bytes.Reader
		io.Closer
	}{bytes.NewReader(o.data), io.NopCloser(nil)}, nil
}

// content returns the whole content of o.
func (o *GitObject) content() ([]byte, error) {
	if o.Open == nil {
		return o.data, nil
	}
	r, err := o.Open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, firstOf(err, r.Close())
}

// NewObjectHash returns a hash that has been fed git's header of an object.
//
// Ids are computed by plain SHA-1, as git's are; it does not look for the
// traces of a collision attack, which costs several times as much.
func NewObjectHash(kind plumbing.ObjectType, size int64) hash.Hash {
	h := sha1.New()
	var header [32]byte
	h.Write(appendObjectHeader(header[:0], kind, size))
	return h
}

func appendObjectHeader(b []byte, kind plumbing.ObjectType, size int64) []byte {
	b = append(b, kind.String()...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, size, 10)
	return append(b, 0)
}

// objectID returns git's id of an object.
func objectID(kind plumbing.ObjectType, data []byte) (id plumbing.Hash) {
	h := NewObjectHash(kind, int64(len(data)))
	h.Write(data)
	h.Sum(id[:0])
	return id
}

// Verifier passes a stream on and answers its end with an error if what went
// through is not the object id.
type Verifier struct {
	R    io.Reader
	Size int64 // still to come
	H    hash.Hash
	ID   plumbing.Hash
	Done func() error
}

// Read passes on what R has. An end that comes too early or too late, or after other
// content than ID names, is an error.
func (v *Verifier) Read(p []byte) (int, error) {
	n, err := v.R.Read(p)
	v.H.Write(p[:n])
	v.Size -= int64(n)
	if err != io.EOF {
		if v.Size < 0 {
			return n, fmt.Errorf("object %s is longer than its header says", v.ID)
		}
		return n, err
	}
	if v.Size != 0 || plumbing.Hash(v.H.Sum(nil)) != v.ID {
		return n, fmt.Errorf("object %s is damaged: its content has another id", v.ID)
	}
	return n, io.EOF
}

// Close calls Done.
func (v *Verifier) Close() error { return v.Done() }

// ExactReader reads left bytes and then wants the end.
type ExactReader struct {
	R    io.Reader
	Left int64
	End  func() error // has the last word, if it is not nil
	Err  error        // why the file could not be read as it was announced
}

// Read passes on what R has. Content that is shorter or longer than announced is
// ErrChanging, and Err keeps it.
func (x *ExactReader) Read(p []byte) (int, error) {
	if x.Left == 0 {
		var one [1]byte
		if n, _ := x.R.Read(one[:]); n > 0 {
			x.Err = ErrChanging
			return 0, x.Err
		}
		if x.End != nil {
			if x.Err = x.End(); x.Err != nil {
				return 0, x.Err
			}
		}
		return 0, io.EOF
	}
	n, err := x.R.Read(p[:min(int64(len(p)), x.Left)])
	x.Left -= int64(n)
	if err == io.EOF && x.Left > 0 {
		err = ErrChanging
	}
	if err != nil && err != io.EOF {
		x.Err = err
		return n, err
	}
	return n, nil
}
