package report

import (
	"fmt"
	"slices"

	"hank/internal/registry"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
)

// Executions are those of this machine: what hank ls prints.
type Executions struct {
	Schema     int      `json:"schema"`
	Executions []Status `json:"executions"`

	known int // executions that were looked at
}

// Nothing says why the list is empty.
func (e *Executions) Nothing() string {
	if e.known > 0 {
		return "no more executions; to forget those whose directory is gone: `hank ls --prune`"
	}
	return "no executions of this user on this machine; to start one: `hank run HANK`"
}

// ListExecutions looks at the executions of this machine, the last used first: at
// most limit, or all if that is 0, after the one in the directory before. prune
// forgets those whose directory is gone. The commands in it name their execution,
// unless it is the one that is found from here.
func ListExecutions(in Settings, limit int, before string, prune bool) (*Executions, error) {
	entries, err := registry.List()
	if err != nil {
		return nil, fmt.Errorf("cannot read the list of executions: %w", err)
	}
	slices.SortFunc(entries, func(a, b registry.Entry) int { return b.LastUsed.Compare(a.LastUsed) })
	known := len(entries)
	if before != "" {
		root, err := layout.Find(before)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(entries, func(e registry.Entry) bool { return e.Root == root })
		if at < 0 {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("--before: %s is not in the list; see: hank ls --limit 0", term.ShortPath(root))}
		}
		entries = entries[at+1:]
	}
	out := &Executions{Schema: 1, Executions: []Status{}, known: known}
	for _, e := range entries {
		if limit > 0 && len(out.Executions) == limit {
			break
		}
		v, err := recovery.Read(e.Root)
		if err == nil && v.State.Lineage == e.Lineage {
			s := statusOf(v, v.Weigh(), in.Layers)
			s.foresee(v, in)
			s.offer(OptionFor(e.Root))
			s.LastUsed = e.LastUsed
			out.Executions = append(out.Executions, s)
			continue
		}
		if prune && !layout.Exists(e.Root) {
			if err := registry.Remove(e.Root); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// StatusOf is ReadStatus of an execution that was read whole, as far as its files tell: no
// runtime is asked, and nothing is said of what a command to continue with would ask. The
// weight is that of v; to weigh takes a look at each transcript.
func StatusOf(v *recovery.View, weight layout.Weight, in Settings, option string) Status {
	s := statusOf(v, weight, in.Layers)
	s.offer(option)
	return s
}

// OptionFor is the option with which commands find an execution, see ReadStatus.
func OptionFor(root string) string {
	if found, err := layout.Find("."); err == nil && found == root {
		return ""
	}
	return " -e " + shell.Quote(root)
}
