package history

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hank/checkpoint"
	"hank/checkpoint/repair"
	"hank/state"
)

// commits is a history without a store. read counts what was looked at.
type commits struct {
	infos map[checkpoint.SHA]checkpoint.Info
	refs  map[string]checkpoint.SHA
	read  map[checkpoint.SHA]int
}

func (c *commits) ReadableRefs(prefix string) (map[string]checkpoint.SHA, []*checkpoint.DamagedError, error) {
	out := map[string]checkpoint.SHA{}
	for name, sha := range c.refs {
		if strings.HasPrefix(name, prefix) {
			out[name] = sha
		}
	}
	return out, nil, nil
}

func (c *commits) CommitInfo(sha checkpoint.SHA) (checkpoint.Info, error) {
	c.read[sha]++
	info, ok := c.infos[sha]
	if !ok {
		return info, errors.New("no such commit")
	}
	return info, nil
}

func (c *commits) Verifier(context.Context) *repair.Verifier { return nil } // nothing is lost

func (c *commits) IsComplete(_ context.Context, sha checkpoint.SHA) (bool, error) {
	_, ok := c.infos[sha]
	return ok, nil
}

func (c *commits) Resolve(prefix string) ([]checkpoint.SHA, error) {
	var out []checkpoint.SHA
	for sha := range c.infos {
		if strings.HasPrefix(string(sha), prefix) {
			out = append(out, sha)
		}
	}
	return out, nil
}

func shaOf(n int) checkpoint.SHA {
	return checkpoint.SHA(fmt.Sprintf("%08x%032x", n*2654435761%(1<<32), n))
}

// drawHistory makes runs that continue one another at any place, and recovery
// branches. Clocks may stand still or go back; events are numbered.
func drawHistory(rt *rapid.T) *commits {
	c := &commits{infos: map[checkpoint.SHA]checkpoint.Info{}, refs: map[string]checkpoint.SHA{}, read: map[checkpoint.SHA]int{}}
	at := time.Unix(1_700_000_000, 0)
	add := func(message string, parents ...checkpoint.SHA) checkpoint.SHA {
		at = at.Add(time.Duration(rapid.IntRange(-2, 20).Draw(rt, "step")) * 100 * time.Millisecond)
		sha := shaOf(len(c.infos) + 1)
		stamp, _ := state.At(at).MarshalJSON()
		c.infos[sha] = checkpoint.Info{SHA: sha, Parents: parents, When: at.Truncate(time.Second),
			Message: fmt.Sprintf("%s\n\nTimestamp: %s\nHank-Record: {\"schema\":1,\"seq\":%d,\"event\":{}}\n", message, strings.Trim(string(stamp), `"`), 10*len(c.infos)+10)}
		return sha
	}
	all := []checkpoint.SHA{add("initial:")}
	c.refs["refs/heads/main"] = all[0]
	c.refs["refs/heads/programs"] = add("program: hank.json")
	for run := range rapid.IntRange(0, 4).Draw(rt, "runs") {
		tip := rapid.SampledFrom(all).Draw(rt, "from")
		for k := range rapid.IntRange(1, 6).Draw(rt, "codons") {
			tip = add(fmt.Sprintf("completed:c%d [run:r%d] Name of %d", k, run, k), tip)
			all = append(all, tip)
		}
		c.refs[fmt.Sprintf("refs/heads/run-r%d", run)] = tip
		if rapid.Bool().Draw(rt, "recovery") {
			c.refs[fmt.Sprintf("refs/heads/recovery/x%d", run)] = add("recovery: before rollback", tip)
		}
	}
	return c
}

func checkpointsOf(ctx context.Context, s *state.State, h Store, o ListOptions) ([]Listed, error) {
	list, err := Checkpoints(ctx, s, h, o)
	return list.Checkpoints, err
}

func TestEveryCheckpointIsListedOnceAndBeforeItsParents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := drawHistory(rt)
		list, err := checkpointsOf(context.Background(), &state.State{}, c, ListOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		if want := len(c.infos) - 1; len(list) != want { // the program is no checkpoint
			rt.Fatalf("%d listed, want %d", len(list), want)
		}
		place := map[state.SHA]int{}
		for i, l := range list {
			place[l.SHA] = i
			if l.RunID != "" && l.Branch != "run-"+string(l.RunID) {
				rt.Fatalf("%+v", l)
			}
		}
		for sha, info := range c.infos {
			for _, p := range info.Parents {
				if place[state.SHA(p)] <= place[state.SHA(sha)] {
					rt.Fatalf("parent %s before %s", p, sha)
				}
			}
		}
	})
}

func TestPagesOfAListMakeTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := drawHistory(rt)
		all, err := checkpointsOf(context.Background(), &state.State{}, c, ListOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		size := rapid.IntRange(1, 7).Draw(rt, "size")
		var paged []Listed
		for before := ""; ; before = string(paged[len(paged)-1].SHA) {
			page, err := checkpointsOf(context.Background(), &state.State{}, c, ListOptions{Limit: size, Before: before})
			if err != nil {
				rt.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			paged = append(paged, page...)
		}
		if !slices.EqualFunc(paged, all, sameListed) {
			rt.Fatalf("pages of %d:\n%v\nwant\n%v", size, paged, all)
		}
	})
}

func TestTheListOfARunIsItsOwnAndTheFirstPageReadsNoMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := drawHistory(rt)
		all, err := checkpointsOf(context.Background(), &state.State{}, c, ListOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		for ref := range c.refs {
			run, ok := strings.CutPrefix(ref, "refs/heads/run-")
			if !ok {
				continue
			}
			got, err := checkpointsOf(context.Background(), &state.State{}, c, ListOptions{Run: state.RunID(run)})
			if err != nil {
				rt.Fatal(err)
			}
			want := slices.DeleteFunc(slices.Clone(all), func(l Listed) bool { return l.RunID != state.RunID(run) })
			slices.SortFunc(want, func(a, b Listed) int { return slices.Index(shas(got), a.SHA) - slices.Index(shas(got), b.SHA) })
			if !slices.EqualFunc(got, want, sameListed) {
				rt.Fatalf("run %s: %v, want %v", run, got, want)
			}
		}
		clear(c.read)
		if _, err := Checkpoints(context.Background(), &state.State{}, c, ListOptions{Limit: 2}); err != nil {
			rt.Fatal(err)
		}
		if most := len(c.refs) + 2; len(c.read) > most {
			rt.Fatalf("%d commits read for a page of 2, want at most %d", len(c.read), most)
		}
	})
}

func shas(list []Listed) []state.SHA {
	out := make([]state.SHA, len(list))
	for i, l := range list {
		out[i] = l.SHA
	}
	return out
}

func TestAnyMessageCanBeListed(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]Listed{
		"completed:review#1 [run:1-a] Name: of [it]\n\nx": {Kind: "completed", CodonID: "review#1", RunID: "1-a", Name: "Name: of [it]"},
		"initial:\n": {Kind: "initial"},
		"exit: [run:1-a]\n\nTimestamp: yesterday": {Kind: "exit", RunID: "1-a"},
		"a commit by hand":                        {Name: "a commit by hand"},
		"":                                        {},
		"Merge: x":                                {Name: "Merge: x"},
	} {
		got := Describe(checkpoint.Info{Message: message})
		got.Time = state.Time{}
		if !sameListed(got, want) {
			t.Errorf("%q: %+v, want %+v", message, got, want)
		}
	}
}

// sameListed compares all members.
func sameListed(a, b Listed) bool { return reflect.DeepEqual(a, b) }
