package worktree

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// A workspace may hold names that git refuses in a tree, because on some
// system they lead into a repository's own directory: ".GIT", "git~1", ".git" with
// an invisible letter. Such a name is stored as EscapePrefix and the name with
// every byte but letters, digits and "._-~ " as %XX. A name that starts with
// EscapePrefix is escaped too, so that the way back is never in doubt.
const EscapePrefix = "%hank%"

// EscapeName returns the stored form of name. It is for names that
// NeedsEscape, but UnescapeName brings back any name.
func EscapeName(name string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(EscapePrefix) + len(name))
	b.WriteString(EscapePrefix)
	for i := range len(name) {
		if c := name[i]; isPlain(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

func isPlain(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("._-~ ", c) >= 0
}

// UnescapeName returns the workspace's name for a name in a tree. Names that
// EscapeName cannot have made are returned as they are; so are escaped forms
// of what is never recorded (".git", "..", "a/b", hank's temporary names), which only
// a tree made by hand can hold.
func UnescapeName(stored string) string {
	coded, ok := strings.CutPrefix(stored, EscapePrefix)
	if !ok {
		return stored
	}
	var b strings.Builder
	for i := 0; i < len(coded); i++ {
		c := coded[i]
		if c == '%' {
			if i+3 > len(coded) {
				return stored
			}
			raw, err := hex.DecodeString(coded[i+1 : i+3])
			if err != nil {
				return stored
			}
			c = raw[0]
			i += 2
		}
		b.WriteByte(c)
	}
	name := b.String()
	if EscapeName(name) != stored || IsPathComponent(name) != nil || NeverRecorded(name) {
		return stored
	}
	return name
}

// NeedsEscape reports whether git's fsck refuses name in a tree whatever it
// leads to, or may on some system take it for another name. It is wider than
// git's rules (fsck.c, is_hfs_dotgit and is_ntfs_dotgit): an escape too many
// costs nothing.
func NeedsEscape(name string) bool {
	if strings.HasPrefix(name, EscapePrefix) {
		return true
	}
	for i, part := range strings.Split(name, `\`) {
		if looksLike(part, ".git") || isShortName(part) {
			return true
		}
		for _, special := range []string{".gitmodules", ".gitattributes"} {
			if looksLike(part, special) && (i > 0 || part != special) {
				return true
			}
		}
	}
	return false
}

// looksLike reports whether HFS+ or NTFS may take name for base: without
// invisible characters, in any case, with spaces, dots or a stream after.
// Anything that is not ASCII after base counts, because git stops reading at
// malformed UTF-8.
func looksLike(name, base string) bool {
	visible := name
	if strings.IndexByte(name, 0xe2) >= 0 || strings.IndexByte(name, 0xef) >= 0 {
		visible = stripIgnorables(name)
	}
	if len(visible) < len(base) || !strings.EqualFold(visible[:len(base)], base) {
		return false
	}
	rest := visible[len(base):]
	return rest == "" || rest[0] >= 0x80 || strings.IndexByte(" .:", rest[0]) >= 0
}

func stripIgnorables(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		n := 1
		if len(name) >= 3 && name[0] >= 0xe2 {
			if r := []rune(name[:3]); len(r) == 1 && hfsIgnores(r[0]) {
				name = name[3:]
				continue
			}
		}
		b.WriteString(name[:n])
		name = name[n:]
	}
	return b.String()
}

// isShortName reports whether name may be the 8.3 name that NTFS gives to a
// dot file of git's: git~1, gitmod~1, gi7eba~1 and the like.
func isShortName(name string) bool {
	if len(name) < 4 || !strings.EqualFold(name[:2], "gi") {
		return false
	}
	tilde := strings.IndexByte(name[:min(len(name), 8)], '~')
	return tilde > 0 && tilde+1 < len(name) && '0' <= name[tilde+1] && name[tilde+1] <= '9'
}

// attributesLine is the shortest line of a .gitattributes that git refuses.
const attributesLine = 2048

// specialLimit bounds a special file that is kept under its own name.
const specialLimit = 1 << 20

// IsSpecial reports whether git's fsck looks into files of this name.
func IsSpecial(name string) bool { return name == ".gitmodules" || name == ".gitattributes" }

// SpecialAllowed reports whether git's fsck lets a regular file of this
// special name with this content into a tree. It may say no too often.
func SpecialAllowed(name string, content []byte) bool {
	if len(content) > specialLimit {
		return false
	}
	if name == ".gitmodules" {
		return modulesAllowed(content)
	}
	for line := range bytes.SplitSeq(content, []byte("\n")) {
		if len(line) >= attributesLine {
			return false
		}
	}
	return true
}

// modulesAllowed accepts the plain form of .gitmodules that git writes:
// sections with a harmless name, and settings without quotes, escapes,
// commands, or values that could be taken for an option.
func modulesAllowed(content []byte) bool {
	for line := range strings.SplitSeq(string(content), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			name, ok := strings.CutPrefix(line, `[submodule "`)
			name, closed := strings.CutSuffix(name, `"]`)
			if !ok || !closed || strings.Contains(name, "..") || strings.ContainsAny(name, "\"\\\x00") {
				return false
			}
		default:
			key, value, ok := strings.Cut(line, "=")
			value = strings.TrimSpace(value)
			if !ok || value == "" || !isWord(strings.TrimSpace(key)) || strings.ContainsAny(value, "\"\\;#!%\x00\r") || value[0] == '-' || strings.Contains(value, "..") {
				return false
			}
		}
	}
	return true
}

func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return s != ""
}
