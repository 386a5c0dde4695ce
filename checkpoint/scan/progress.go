package scan

import "sync/atomic"

// Progress counts what a scan reads, or a restore writes, while it is at it.
// Any goroutine may look at any time. A nil Progress counts nothing.
type Progress struct{ files, bytes atomic.Int64 }

// Add counts one more file of so many bytes.
func (p *Progress) Add(bytes int64) {
	if p != nil {
		p.files.Add(1)
		p.bytes.Add(bytes)
	}
}

// Done returns how many files were read or written so far, and their bytes.
func (p *Progress) Done() (files, bytes int64) { return p.files.Load(), p.bytes.Load() }
