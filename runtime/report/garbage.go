package report

import (
	"context"
	"errors"
	"os"
	"slices"

	"hank/checkpoint"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/runtime/gc"
)

// Garbage is what could be deleted in an execution, or was.
type Garbage struct {
	Schema      int          `json:"schema"`
	Execution   string       `json:"execution"`
	Applied     bool         `json:"applied"`
	Bytes       int64        `json:"bytes"` // that went, or would go
	Items       []gc.Garbage `json:"items"`
	Checkpoints int64        `json:"checkpointBytes"` // of the store as it is
}

// CollectGarbage lists what could be deleted in an execution and, if that is wanted,
// deletes it. With a damaged store it returns both what could be deleted without it and the error.
func CollectGarbage(ctx context.Context, v *recovery.View, p gc.Policy, apply bool, work execution.Work) (*Garbage, error) {
	g, err := &Garbage{Schema: 1, Execution: v.Layout.Root, Applied: apply}, error(nil)
	if apply {
		g.Items, err = gc.Collect(ctx, v.Layout.Root, p, work)
	} else {
		g.Items, err = gc.ListGarbage(ctx, v, p)
	}
	var damaged *checkpoint.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	if store, err := v.Store(); err == nil {
		g.Checkpoints, _ = store.Size() // shown only
		store.Close()
	}
	for _, item := range g.Items {
		if item.Remove {
			g.Bytes += item.Bytes
		}
	}
	return g, err
}

// HasIndex reports whether the cost index is among the garbage.
func (g *Garbage) HasIndex() bool {
	return slices.ContainsFunc(g.Items, func(item gc.Garbage) bool { return item.Kind == gc.Index })
}

// Expired are the executions of this machine that could be deleted, or were.
type Expired struct {
	Schema  int          `json:"schema"`
	Applied bool         `json:"applied"`
	Bytes   int64        `json:"bytes"` // that went, or would go
	Items   []gc.Expired `json:"items"` // with applied: what went, and what was kept
}

// CollectExpired lists the executions that have expired, completed ones and orphans
// as wanted, and deletes them if that is wanted. It returns an error together with
// what was deleted before.
func CollectExpired(ctx context.Context, p gc.Policy, completed, orphans, apply bool) (*Expired, error) {
	list, err := gc.ListExpired(ctx, p, completed, orphans)
	if err != nil {
		return nil, err
	}
	out := &Expired{Schema: 1, Applied: apply, Items: list}
	if apply {
		out.Items, err = gc.Discard(ctx, p, list)
		for i, x := range out.Items {
			if _, err := os.Lstat(x.Execution); err == nil {
				out.Items[i].What += "; the directory stays, since it has files that are not hank's"
			}
		}
		out.Items = append(out.Items, slices.DeleteFunc(list, func(x gc.Expired) bool { return !x.Kept })...)
	}
	for _, x := range out.Items {
		if x.Remove {
			out.Bytes += x.Bytes
		}
	}
	return out, err
}
