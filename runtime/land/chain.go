package land

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/recovery/execution"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/state"
)

// part is what one commit of a landing is made of: the changes between two
// checkpoints of the lineage path.
type part struct {
	target  history.Target
	title   string
	when    time.Time
	codons  []*state.Codon // whose work it is; none for what the user or hank did between two
	before  checkpoint.SHA // the tree of the checkpoint before
	changes []diff.Change
}

// point is a checkpoint on the way of a lineage path.
type point struct {
	sha   state.SHA
	codon *state.Codon // nil between codons
}

// way returns the lineage path that leads to a target, and its checkpoints: for each
// settled codon the one that it began from, if the user or the archive made
// that, and its own. The last is the target, whatever it is.
func way(s *state.State, store *checkpoint.Store, to history.Target) ([]state.LineageEntry, []point) {
	steps := s.LineagePath()
	if r := s.Run(to.RunID); r != nil && to.CodonID != "" {
		for i := range r.Len() {
			if c := r.Codon(i); c.CodonID == to.CodonID && history.CheckpointOf(c, to.Kind) == to.SHA {
				steps = s.LineagePathTo(r, c)
			}
		}
	}
	var points []point
	for _, step := range steps {
		c := step.Codon
		if between(store, c.BaseCheckpoint) {
			points = append(points, point{sha: c.BaseCheckpoint})
		}
		if c.Settled() && c.Checkpoint() != "" {
			points = append(points, point{c.Checkpoint(), c})
		}
		if len(points) > 0 && points[len(points)-1].sha == to.SHA {
			return steps, points
		}
	}
	last := point{sha: to.SHA}
	if n := len(steps); n > 0 && history.CheckpointOf(steps[n-1].Codon, to.Kind) == to.SHA {
		last.codon = steps[n-1].Codon
	}
	return steps, append(points, last)
}

// between reports whether a checkpoint holds what was done between two codons.
func between(store *checkpoint.Store, sha state.SHA) bool {
	if sha == "" {
		return false
	}
	info, err := store.CommitInfo(checkpoint.SHA(sha))
	kind := history.Describe(info).Kind
	return err == nil && (kind == state.KindManual || kind == state.KindArchive)
}

// landTo is where a landing ends when nothing is said: where the lineage path has
// got to with what is settled.
func landTo(s *state.State, store *checkpoint.Store) (history.Target, error) {
	if here := s.CurrentPosition().CheckpointSHA; between(store, here) {
		return history.TargetOf(s, store, here), nil
	}
	steps := s.LineagePath()
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Codon.Settled() {
			if t, ok := history.EndOf(s, steps[i], ""); ok {
				return t, nil
			}
		}
	}
	return history.Target{}, &exitcode.UsageError{Why: "no codon is completed on the current lineage path: there is nothing to land; see: `hank status`"}
}

// partsOf returns what changed from one target to another, checkpoint by
// checkpoint.
func partsOf(s *state.State, store *checkpoint.Store, from history.Target, points []point) ([]part, error) {
	if from.SHA != s.InitialCheckpoint {
		i := slices.IndexFunc(points, func(p point) bool { return p.sha == from.SHA })
		if i < 0 {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("--from %s is not on the lineage path that leads to where the landing ends; see: `hank checkpoints`", from)}
		}
		points = points[i+1:]
	}
	tree, err := history.TreeOf(store, from.SHA)
	if err != nil {
		return nil, err
	}
	f := treeFold{store: store, tree: tree, kept: map[string]diff.Entry{}}
	var list []part
	for _, p := range points {
		info, err := store.CommitInfo(checkpoint.SHA(p.sha))
		if err != nil {
			return nil, fmt.Errorf("the checkpoint %.12s cannot be read; see: `hank doctor`: %w", p.sha, err)
		}
		l := history.Describe(info)
		next := part{target: history.Target{SHA: p.sha, Kind: l.Kind, RunID: l.RunID, CodonID: l.CodonID}, title: l.Name, when: info.When, before: f.tree}
		if next.changes, err = f.step(info.Tree, execution.Taken(s, store, p.sha).Matcher()); err != nil {
			return nil, err
		}
		switch {
		case p.codon != nil:
			next.codons = []*state.Codon{p.codon}
			if next.title == "" {
				next.title = string(p.codon.CodonID)
			}
		case next.target.Kind == state.KindManual:
			next.title = "Changes made by hand"
		case next.target.Kind == state.KindArchive:
			next.title = fmt.Sprintf("Move files of %s to the archive", next.target.CodonID)
		case next.title == "":
			next.title = next.target.String()
		}
		list = append(list, next)
	}
	return list, nil
}

// treeFold folds checkpoints that do not all track the same into what was there:
// a file that a checkpoint does not look at stays as the last that did has it.
type treeFold struct {
	store *checkpoint.Store
	tree  checkpoint.SHA        // of the last checkpoint
	kept  map[string]diff.Entry // files that it does not look at
}

// step returns what the next checkpoint, which takes what takes says, changes.
func (f *treeFold) step(tree checkpoint.SHA, takes func(string) bool) ([]diff.Change, error) {
	differences, err := diff.Diff(f.store, f.tree, tree)
	if err != nil {
		return nil, err
	}
	f.tree = tree
	var changes []diff.Change
	present := map[string]bool{}
	for _, c := range differences {
		if c.Kind == diff.Deleted {
			continue
		}
		present[c.Path] = true
		if old, ok := f.kept[c.Path]; ok && c.From == (diff.Entry{}) {
			delete(f.kept, c.Path)
			if c.From = old; c.From == c.To {
				continue
			}
			c.Kind = diff.Modified
		}
		changes = append(changes, c)
	}
	// What was kept is gone when the checkpoint looks there and has nothing, or
	// has a file where a directory was, or a directory where a file was.
	dirs := map[string]bool{}
	for p := range present {
		eachAbove(p, func(dir string) { dirs[dir] = true })
	}
	gone := func(p string) bool {
		is := takes(p) || dirs[p]
		eachAbove(p, func(dir string) { is = is || present[dir] })
		return is
	}
	for p, e := range f.kept {
		if gone(p) {
			delete(f.kept, p)
			changes = append(changes, diff.Change{Path: p, Kind: diff.Deleted, From: e})
		}
	}
	for _, c := range differences {
		switch {
		case c.Kind != diff.Deleted:
		case gone(c.Path):
			changes = append(changes, c)
		default:
			f.kept[c.Path] = c.From
		}
	}
	slices.SortFunc(changes, func(a, b diff.Change) int { return strings.Compare(a.Path, b.Path) })
	return changes, nil
}

// eachAbove calls fn for the directories above a path.
func eachAbove(p string, fn func(dir string)) {
	for i := strings.LastIndexByte(p, '/'); i > 0; i = strings.LastIndexByte(p, '/') {
		p = p[:i]
		fn(p)
	}
}

// net folds parts into one: what differs between before the first and after
// the last.
func net(list []part) []diff.Change {
	sum := map[string]diff.Change{}
	for _, p := range list {
		for _, c := range p.changes {
			if first, ok := sum[c.Path]; ok {
				c.From = first.From
			}
			switch {
			case c.From == c.To:
				delete(sum, c.Path)
				continue
			case c.From == diff.Entry{}:
				c.Kind = diff.Added
			case c.To == diff.Entry{}:
				c.Kind = diff.Deleted
			default:
				c.Kind = diff.Modified
			}
			sum[c.Path] = c
		}
	}
	return slices.SortedFunc(maps.Values(sum), func(a, b diff.Change) int { return strings.Compare(a.Path, b.Path) })
}
