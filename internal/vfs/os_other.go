//go:build !unix

package vfs

// ignoreUnsyncable ignores all: Windows has no fsync for directories, FlushFileBuffers on
// a directory handle is refused. NTFS journals its names.
func ignoreUnsyncable(error) error { return nil }
