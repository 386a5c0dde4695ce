//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package flock

import (
	"errors"
	"fmt"
	"os"
)

var errNone = fmt.Errorf("hank cannot lock a directory on this system; on Windows, use WSL: %w", errors.ErrUnsupported)

// Exclusive fails with errors.ErrUnsupported.
func Exclusive(*os.File) error { return errNone }

// Shared fails with errors.ErrUnsupported.
func Shared(*os.File) error { return errNone }

// OpenDir opens a directory.
func OpenDir(path string) (*os.File, error) { return os.Open(path) }

// Close closes the file.
func Close(f *os.File) error { return f.Close() }
