package restore

import "sync"

// buffers are for copying and hashing file content, one per goroutine.
var buffers = sync.Pool{New: func() any { b := make([]byte, 128<<10); return &b }}

func getBuffer() *[]byte { return buffers.Get().(*[]byte) }

func putBuffer(b *[]byte) { buffers.Put(b) }
