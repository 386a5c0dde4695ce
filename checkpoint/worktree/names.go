package worktree

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// IsPathComponent refuses names that are not one component of a path.
func IsPathComponent(name string) error {
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

// Restorable refuses names of tree entries that a restore must not write or
// delete: what any system takes for .git, and those of hank's temporary files. The store keeps files
// with such names under escaped ones, or not at all.
func Restorable(name string) error {
	switch {
	case IsDotGit(name):
		return errors.New("a name that git takes for its own directory")
	case NeverRecorded(name):
		return errors.New("a name that hank gives its temporary files")
	}
	return nil
}

const (
	// rigPrefix starts the names of a rig's temporary files.
	rigPrefix = ".hankweave-rig-"
	// TempPrefix starts the names of a restore's temporary files.
	TempPrefix = ".hankweave-restore-"
	// KeptInfix is in the names of files that a restore had taken aside and
	// could not bring back: NAME.hank-kept-…, or hank-kept-… alone.
	KeptInfix = ".hank-kept-"
	// JournalName is the file in the root that an unfinished restore leaves.
	JournalName = TempPrefix + "journal"
)

// IsKeptAside reports whether a path has a name that a restore, or a rig, has given to
// what was in its way.
func IsKeptAside(path string) bool { return strings.Contains(path, KeptInfix[1:]) }

// KeptName is the n-th such name for what was called name.
func KeptName(name string, n int) string {
	if kept := fmt.Sprintf("%s%s%d", name, KeptInfix, n); len(kept) <= 255 {
		return kept
	}
	return fmt.Sprintf("%s%d", KeptInfix[1:], n)
}

// IsDotGit reports whether some system takes name for ".git": macOS ignores
// case and some invisible characters, Windows ignores case, trailing dots and
// spaces and what follows a colon, and has the short name git~1. These are
// the rules of git's verify_dotfile, is_hfs_dotgit and is_ntfs_dotgit.
func IsDotGit(name string) bool {
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

// Parent returns the directory of name, "" for the root.
func Parent(name string) string {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)]
}

// LastComponent returns the name of path in its directory.
func LastComponent(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// IsTemporary reports whether name is one that hank gives temporary files in a
// workspace, in any case and any Unicode form.
func IsTemporary(name string) bool {
	// No letter but h and H is h in lower case, so most names stop here.
	if len(name) < len(rigPrefix) || name[0] != '.' || name[1]|0x20 != 'h' {
		return false
	}
	lower := strings.ToLower(norm.NFC.String(name))
	return strings.HasPrefix(lower, TempPrefix) || strings.HasPrefix(lower, rigPrefix)
}

// NeverRecorded reports whether name is ".git" or one that hank gives its own
// temporary files: these are in no checkpoint, at any depth.
func NeverRecorded(name string) bool { return name == ".git" || IsTemporary(name) }
