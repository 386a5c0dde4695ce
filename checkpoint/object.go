package checkpoint

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
)

// inMemory bounds the objects that are read whole. Larger blobs stream.
const inMemory = 1 << 20

// gitObject is a plumbing.EncodedObject that a store hands out: its content in
// memory, or a way to open a stream of it. It cannot be changed.
type gitObject struct {
	id   plumbing.Hash
	kind plumbing.ObjectType
	size int64
	data []byte
	open func() (io.ReadCloser, error) // nil: data is the content
}

var errReadOnlyObject = errors.New("an object of the store cannot be changed; make a new one")

func (o *gitObject) Hash() plumbing.Hash             { return o.id }
func (o *gitObject) Type() plumbing.ObjectType       { return o.kind }
func (o *gitObject) SetType(plumbing.ObjectType)     {}
func (o *gitObject) Size() int64                     { return o.size }
func (o *gitObject) SetSize(int64)                   {}
func (o *gitObject) Writer() (io.WriteCloser, error) { return nil, errReadOnlyObject }

func (o *gitObject) Reader() (io.ReadCloser, error) {
	if o.open != nil {
		return o.open()
	}
	return struct {
		*bytes.Reader
		io.Closer
	}{bytes.NewReader(o.data), io.NopCloser(nil)}, nil
}

// content returns the whole content of o.
func (o *gitObject) content() ([]byte, error) {
	if o.open == nil {
		return o.data, nil
	}
	r, err := o.open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, firstOf(err, r.Close())
}

// newObjectHash returns a hash that has been fed git's header of an object.
//
// Ids are computed by plain SHA-1, as git's are; it does not look for the
// traces of a collision attack, which costs several times as much.
func newObjectHash(kind plumbing.ObjectType, size int64) hash.Hash {
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
	h := newObjectHash(kind, int64(len(data)))
	h.Write(data)
	h.Sum(id[:0])
	return id
}

// verifier passes a stream on and answers its end with an error if what went
// through is not the object id.
type verifier struct {
	r    io.Reader
	size int64 // still to come
	h    hash.Hash
	id   plumbing.Hash
	done func() error
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.h.Write(p[:n])
	v.size -= int64(n)
	if err != io.EOF {
		if v.size < 0 {
			return n, fmt.Errorf("object %s is longer than its header says", v.id)
		}
		return n, err
	}
	if v.size != 0 || plumbing.Hash(v.h.Sum(nil)) != v.id {
		return n, fmt.Errorf("object %s is damaged: its content has another id", v.id)
	}
	return n, io.EOF
}

func (v *verifier) Close() error { return v.done() }
