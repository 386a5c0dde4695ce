// Package sandbox keeps a process, and all that it starts, from writing
// anywhere but where it may. The kernel does it (Linux's Landlock): what is
// confined cannot lift it, nor can its children.
//
// It is about writes. Reading, the network, and asking a service that runs
// outside (a container daemon, by its socket) stay as they are.
package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// MinABI is the oldest Landlock that counts: before it, files outside could be
// emptied by truncate(2). Linux 6.2 has it.
const MinABI = 3

// Support is what this kernel can do.
type Support struct {
	ABI int    `json:"abi"`           // Landlock's version; 0 is none
	Why string `json:"why,omitempty"` // why nothing can be confined here; empty if it can
}

// InForce reports whether Confine can do what it promises.
func (s Support) InForce() bool { return s.Why == "" }

// Devices are the files outside that everything confined may write to: what is
// written there is kept nowhere. Those that are not there are passed over.
var Devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"}

// UnsupportedError says that there is nothing here that could confine.
type UnsupportedError struct{ Why string }

func (e *UnsupportedError) Error() string { return "nothing can be confined here: " + e.Why }

// Contains reports whether path is dir or inside it. Both are absolute, and
// looked at as they are spelled: see Real.
func Contains(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Real is the place that a path leads to, links followed, as far as it is
// there; what is not there yet is kept as it is spelled.
func Real(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(Real(parent), filepath.Base(path))
}

// Directory makes a directory for hank that something confined may write to, and
// sees that it is one and no link: that would open what it leads to.
func Directory(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return &fs.PathError{Op: "confine", Path: dir, Err: fmt.Errorf("it is %s and no directory; something has replaced it: remove it", fi.Mode().Type())}
	}
	return nil
}
