package layout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Impossible says why there can be no directory with files in a place; empty: nothing is known
// that speaks against it. Permissions are not asked about: see ClosedPlace.
func Impossible(dir string) string {
	at := dir
	for ; ; at = filepath.Dir(at) {
		fi, err := os.Stat(at)
		if err == nil && fi.IsDir() {
			break
		}
		if err == nil {
			return at + " is " + What(at, fi)
		}
		switch to, linkErr := os.Readlink(at); {
		case linkErr == nil && errors.Is(err, syscall.ELOOP):
			return fmt.Sprintf("%s is a link to %s, which leads back to itself", at, to)
		case linkErr == nil && errors.Is(err, os.ErrNotExist):
			return fmt.Sprintf("%s is a link to %s, which does not exist", at, to)
		case at == filepath.Dir(at), errors.Is(err, os.ErrPermission):
			return ""
		}
	}
	if rest, err := filepath.Rel(at, dir); err == nil && rest != "." {
		for _, name := range strings.Split(rest, string(filepath.Separator)) {
			if _, err := os.Lstat(filepath.Join(at, name)); errors.Is(err, syscall.ENAMETOOLONG) {
				return fmt.Sprintf("a name in it has %d bytes, which is too long there", len(name))
			}
		}
	}
	if _, err := os.Lstat(dir); errors.Is(err, syscall.ENAMETOOLONG) {
		return fmt.Sprintf("its path has %d bytes, which is too long", len(dir))
	}
	if ofKernel(at) {
		return at + " is in a file system of the kernel, which takes no files"
	}
	return ""
}
