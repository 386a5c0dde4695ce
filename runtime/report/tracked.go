package report

import "hank/runtime/tracked"

// Tracked is what patterns track in a workspace.
type Tracked struct {
	Schema        int              `json:"schema"`
	WorkspacePath string           `json:"workspacePath"`
	Patterns      []TrackedPattern `json:"patterns"` // as given; empty: everything that no ignore rule excludes
	Files         []TrackedFile    `json:"files"`
	Bytes         int64            `json:"bytes"` // of all files
	Untracked     []UntrackedFile  `json:"untracked"`
}

// TrackedPattern is a pattern, and how many files it fits, untracked ones included.
type TrackedPattern struct {
	Pattern string `json:"pattern"`
	Fits    int    `json:"fits"`
}

// TrackedFile is a file that a checkpoint would hold.
type TrackedFile struct {
	Path
	Bytes int64 `json:"bytes"`
}

// UntrackedFile is a file that the patterns select and that no checkpoint takes.
type UntrackedFile struct {
	Path
	Reason string `json:"reason"`
}

// TrackedOf is the same of what was found.
func TrackedOf(f *tracked.Files) *Tracked {
	out := &Tracked{Schema: 1, WorkspacePath: f.Workspace, Patterns: []TrackedPattern{}, Files: []TrackedFile{}, Bytes: f.Bytes(), Untracked: []UntrackedFile{}}
	for _, p := range f.Patterns {
		out.Patterns = append(out.Patterns, TrackedPattern{p.Text, p.Fits})
	}
	for _, file := range f.Files {
		out.Files = append(out.Files, TrackedFile{pathOf(file.Path), file.Bytes})
	}
	for _, u := range f.Untracked {
		out.Untracked = append(out.Untracked, UntrackedFile{pathOf(u.Path), u.Why})
	}
	return out
}
