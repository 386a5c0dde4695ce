//go:build !unix

package vfs

// Windows has no fsync for directories: FlushFileBuffers on a directory handle is
// refused. NTFS journals its names.
func ignoreUnsyncable(error) error { return nil }
