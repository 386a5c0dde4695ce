package match

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hank/checkpoint/packdb"
	"hank/internal/gitignore"
	"hank/internal/vfs"
)

// leftOutMark begins the part of the store's info/exclude that lists single
// files. They are kept out of checkpoints more strictly than other ignored files:
// no later .gitignore, no index of the user's, and no list of what a snapshot must
// include, takes them in. A restore leaves them where they are (see
// RestoreRequest.LeftOut), and so does a rig.
const leftOutMark = "# left out of every checkpoint, a file a line:"

// LeaveOut keeps files out of every checkpoint from now on. Those of the newest
// checkpoint stay in it.
func LeaveOut(s *packdb.DB, paths []string) error {
	text, all := Excludes(s)
	for _, p := range paths {
		if strings.ContainsAny(p, "\n\r\x00") {
			return fmt.Errorf("%q cannot be left out: its name has a line break; rename it", p)
		}
		all[p] = true
	}
	before, _, _ := strings.Cut(text, leftOutMark)
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	after := leftOutMark + "\n"
	for _, p := range slices.Sorted(maps.Keys(all)) {
		after += gitignore.Pattern(p) + "\n"
	}
	return vfs.ReplaceFile(s.FS, filepath.Join(s.Dir, "info", "exclude"), []byte(before+after), 0o600, vfs.Durable)
}

// LeftOut lists the files that LeaveOut was called with, sorted.
func LeftOut(s *packdb.DB) []string {
	_, all := Excludes(s)
	return slices.Sorted(maps.Keys(all))
}

// Excludes reads the store's info/exclude; one that cannot be read is empty.
func Excludes(s *packdb.DB) (text string, leftOut map[string]bool) {
	leftOut = map[string]bool{}
	data, err := vfs.ReadFile(s.FS, filepath.Join(s.Dir, "info", "exclude"))
	if err != nil {
		return "", leftOut
	}
	_, list, _ := strings.Cut(string(data), leftOutMark+"\n")
	for line := range strings.Lines(list) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "/"); ok {
			leftOut[unescaped(name)] = true
		}
	}
	return string(data), leftOut
}

// unescaped takes the backslashes off a pattern.
func unescaped(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}
