package sandbox

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// What Confine takes away, and what it leaves in a directory and for a file.
const (
	ofFile landlock.AccessFSSet = ll.AccessFSWriteFile | ll.AccessFSTruncate
	ofDir                       = ofFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeChar | ll.AccessFSMakeDir |
		ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeBlock | ll.AccessFSMakeSym | ll.AccessFSRefer
	// scopes keep signals, and sockets without a file, inside: else what is
	// confined could end the runtime, or have others write for it.
	scopes    landlock.ScopedSet = ll.ScopeSignal | ll.ScopeAbstractUnixSocket
	scopesABI                    = 6
)

// Kernel asks this kernel.
func Kernel() Support {
	abi, err := ll.LandlockGetABIVersion()
	switch {
	case err != nil:
		return Support{Why: fmt.Sprintf("this kernel has no Landlock, or it was not switched on at boot (lsm=landlock,…): %v", err)}
	case abi < MinABI:
		return Support{ABI: abi, Why: fmt.Sprintf("this kernel has Landlock %d, and %d is needed (Linux 6.2)", abi, MinABI)}
	}
	return Support{ABI: abi}
}

// Confine keeps this process, and everything that it starts from now on, from
// changing anything outside the files and directories given, all of which must be
// there, and Devices. It cannot be undone. set-user-ID programs lose their
// power on the way. Where nothing can be confined it is an *UnsupportedError,
// and nothing has changed.
func Confine(writable []string) error {
	support := Kernel()
	if !support.InForce() {
		return &UnsupportedError{support.Why}
	}
	var files, dirs []string
	for _, path := range writable {
		fi, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("confining to %s: %w", path, err)
		}
		if fi.IsDir() {
			dirs = append(dirs, path)
		} else {
			files = append(files, path)
		}
	}
	for _, path := range Devices {
		if fi, err := os.Stat(path); err == nil && fi.IsDir() {
			dirs = append(dirs, path)
		} else if err == nil {
			files = append(files, path)
		}
	}
	config := landlock.MustConfig(ofDir)
	if support.ABI >= scopesABI {
		config = landlock.MustConfig(ofDir, scopes)
	}
	if err := config.Restrict(landlock.PathAccess(ofFile, files...), landlock.PathAccess(ofDir, dirs...)); err != nil {
		return fmt.Errorf("confining by Landlock %d: %w", support.ABI, err)
	}
	return nil
}
