package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// UnsafeTreeError says that a tree holds a name that hank never writes into a
// tree and that could lead out of the workspace or into a repository's own
// files. Such a tree was made by hand or is damaged; nothing was touched.
type UnsafeTreeError struct {
	Tree SHA
	Path string // as far as it was followed
	Why  string
}

func (e *UnsafeTreeError) Error() string {
	return fmt.Sprintf("tree %s is not safe to use: %q: %s; it was not made by hank, restore from another checkpoint", e.Tree, e.Path, e.Why)
}

// isPathComponent refuses names that are not one component of a path.
func isPathComponent(name string) error {
	switch {
	case name == "":
		return errors.New("an empty name")
	case name == "." || name == "..":
		return errors.New("a name that leads elsewhere")
	case strings.ContainsAny(name, "/\x00"):
		return errors.New("a name with a slash or a NUL byte")
	}
	return nil
}

// restorable refuses names of tree entries that a restore must not write or
// delete: what any system takes for .git, and those of hank's temporary files. The store keeps files
// with such names under escaped ones, or not at all.
func restorable(name string) error {
	switch {
	case isDotGit(name):
		return errors.New("a name that git takes for its own directory")
	case neverRecorded(name):
		return errors.New("a name that hank gives its temporary files")
	}
	return nil
}

const (
	// rigPrefix starts the names of a rig's temporary files.
	rigPrefix = ".hankweave-rig-"
	// tempPrefix starts the names of a restore's temporary files.
	tempPrefix = ".hankweave-restore-"
	// keptInfix is in the names of files that a restore had taken aside and
	// could not bring back: NAME.hank-kept-…, or hank-kept-… alone.
	keptInfix = ".hank-kept-"
	// journalName is the file in the root that an unfinished restore leaves.
	journalName = tempPrefix + "journal"
)

// IsKeptAside reports whether a path has a name that a restore, or a rig, has given to
// what was in its way.
func IsKeptAside(path string) bool { return strings.Contains(path, keptInfix[1:]) }

// KeptName is the n-th such name for what was called name.
func KeptName(name string, n int) string {
	if kept := fmt.Sprintf("%s%s%d", name, keptInfix, n); len(kept) <= 255 {
		return kept
	}
	return fmt.Sprintf("%s%d", keptInfix[1:], n)
}

// isDotGit reports whether some system takes name for ".git": macOS ignores
// case and some invisible characters, Windows ignores case, trailing dots and
// spaces and what follows a colon, and has the short name git~1. These are
// the rules of git's verify_dotfile, is_hfs_dotgit and is_ntfs_dotgit.
func isDotGit(name string) bool {
	if name != "" && name[0] < utf8.RuneSelf && !strings.ContainsAny(name[:1], ".gG") {
		return false // whatever is left out further on
	}
	visible := strings.Map(func(r rune) rune {
		if hfsIgnores(r) {
			return -1
		}
		return r
	}, name)
	if utf8.ValidString(name) && strings.EqualFold(visible, ".git") {
		return true
	}
	ntfs, _, _ := strings.Cut(name, ":")
	ntfs, _, _ = strings.Cut(ntfs, `\`)
	ntfs = strings.TrimRight(ntfs, " .")
	return strings.EqualFold(ntfs, ".git") || strings.EqualFold(ntfs, "git~1")
}

// hfsIgnores reports whether HFS+ leaves r out when it compares names.
func hfsIgnores(r rune) bool {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return true
	}
	return false
}
