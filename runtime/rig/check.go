package rig

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"

	"hank/plan"
	"hank/runtime/keeper"
)

// Checks looks at a workspace for a codon: whether a command ends well in it, and
// whether patterns give files.
type Checks struct {
	Workspace string // absolute
	CodonID   plan.CodonID
	Environ   []string // the whole environment of the command
	Attempt   string
	Writable  []string              // what the command may change; nil is anything
	Apart     func(rel string) bool // as in Setup
	Start     starter               // nil is the keeper
	// Note takes rig.output events of the command; the goroutine that calls Command
	// calls it, and no other.
	Note   func(eventType string, data any)
	Killed func(keeper.Exit) // as in Setup
}

// Command runs a command in the workspace. It returns nil if the command ended with
// code 0. All that it started is dead then, but for what the failure's
// *keeper.AliveError names.
func (c Checks) Command(ctx context.Context, command plan.Command) *Failure {
	return commander{
		environ: c.Environ, workspace: c.Workspace, attempt: c.Attempt, writable: c.Writable, start: c.Start, killed: c.Killed, every: sampleEvery,
		emit: func(index int, s sample) { c.Note("rig.output", rigOutput{c.CodonID, s.Stream, s.Line, index}) },
	}.run(ctx, 0, command, c.Workspace)
}

// Missing are the patterns that give no file: neither a regular one nor a link that leads
// to one in the workspace. The dialect is that of checkpointedFiles.
func (c Checks) Missing(patterns []string) ([]string, error) {
	root, err := os.OpenRoot(c.Workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	apart := func(rel string, _ bool) bool { return c.Apart != nil && c.Apart(rel) }
	var missing []string
	for _, p := range patterns {
		g, err := newGlobs([]string{p})
		if err != nil {
			return nil, err
		}
		found, err := g.find(root, apart)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Clean(p), err)
		}
		if len(found.Files) == 0 && !slices.ContainsFunc(found.Skipped, func(name string) bool { return g.matches(name) && leadsToFile(root, name) }) {
			missing = append(missing, p)
		}
	}
	return missing, nil
}

// leadsToFile reports whether a link leads to a regular file in the workspace.
func leadsToFile(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// Ended reports whether it is a command that has ended by itself, with ExitCode: one that
// was stopped, or that a signal has ended, has not.
func (f *Failure) Ended() bool { return f.Type == failedCommand && f.ExitCode >= 0 }
