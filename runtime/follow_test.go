package runtime

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/state"
	"hank/state/journal"
)

// Who follows a live run from its first event, or from the middle, gets what is in
// the journal, up to the run's end; who only wants its status gets each one.
func TestALiveRunIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "until [ -e ../go ]; do sleep 0.01; done; echo '::hank usage {\"costUSD\":0.5}'"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >b"}]}`)
	ctx, socket := context.Background(), layout.Layout{Root: s.root}.Socket()
	var wait sync.WaitGroup
	follow := func(from uint64) *[]string {
		var ids []string
		wait.Go(func() {
			if err := control.Follow(ctx, socket, control.Subscription{Events: true, From: from, Early: from == 1}, func(u control.Update) error {
				if u.Event != nil {
					ids = append(ids, u.Event.ID)
				}
				return nil
			}); err != nil {
				t.Errorf("followed from %d to %v: %v", from, ids, err)
			}
		})
		return &ids
	}
	var first, middle *[]string
	var statuses []string
	res := s.must(ModeRun, exitcode.Done, onStatus("a", state.Running, func() {
		first, middle = follow(1), follow(5)
		wait.Go(func() {
			if err := control.Follow(ctx, socket, control.Subscription{Status: true}, func(u control.Update) error {
				if u.Event != nil {
					t.Errorf("an event came: %+v", u)
				}
				if statuses = append(statuses, string(u.Status)); len(statuses) == 1 {
					put(t, s.root, "go", "")
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}))
	wait.Wait()
	var all []string
	if err := journal.Read(vfs.OS, layout.Layout{Root: s.root}.Events(), 1, func(e journal.Event) error {
		all = append(all, e.ID)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(*first, all) || !slices.Equal(*middle, all[4:]) {
		t.Errorf("followed\n%v\n%v\nthe journal has\n%v", *first, *middle, all)
	}
	if len(statuses) == 0 {
		t.Error("no status came")
	}
	began := time.Now()
	if err := control.Follow(ctx, socket, control.Subscription{Events: true}, nil); !errors.Is(err, control.ErrNotRunning) || time.Since(began) > 5*time.Second {
		t.Errorf("after the end: %v, after %s", err, time.Since(began))
	}
	if res.RunID == "" {
		t.Error("there was no run")
	}
}
