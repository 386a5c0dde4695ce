package steps

import "path"

// Targets are the files that copies of a rig have made for certain. A copy costs as much as its
// target is deep, however many there were before it.
type Targets struct {
	copies int
	files  map[string]int // by path, the number of the copy that has made the file
	last   map[string]int // by path, the number of the last copy there, of a file or a directory
}

// Copy notes a copy to a clean path, and returns the file made before in which that path would
// lie; empty: there is none. file: it makes a file for certain.
func (t *Targets) Copy(to string, file bool) (inside string) {
	if t.files == nil {
		t.files, t.last = map[string]int{}, map[string]int{}
	}
	for at := path.Dir(to); at != "." && at != "/" && inside == ""; at = path.Dir(at) {
		if t.stands(at) {
			inside = at
		}
	}
	t.copies++
	t.last[to] = t.copies
	if file {
		t.files[to] = t.copies
	}
	return inside
}

// stands reports whether a file was made, and no later copy has replaced it or a directory that
// it is in.
func (t *Targets) stands(file string) bool {
	made, is := t.files[file]
	for at := file; is && at != "." && at != "/"; at = path.Dir(at) {
		is = t.last[at] <= made
	}
	return is
}
