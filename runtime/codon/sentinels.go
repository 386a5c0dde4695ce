package codon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/failpoint"
	"hank/internal/term"
	"hank/plan"
	config "hank/plan/sentinel"
	"hank/runtime/exitcode"
	"hank/runtime/harness"
	"hank/runtime/notices"
	"hank/runtime/sentinel"
	"hank/state"
	"hank/state/observer"
)

// loadSentinels looks which sentinels of the codon can run. Where no agent works, there is
// nothing that they would observe.
func (a *attempt) loadSentinels() {
	if a.Idle || a.replays() || a.Follow == nil || len(a.Entry.Codon.Sentinels) == 0 {
		return
	}
	a.ready, a.lost = sentinel.Load(a.Program, a.Entry, a.SentinelEnviron)
}

// notLoaded are the names of those that cannot.
func (a *attempt) notLoaded() (names []string) {
	for _, l := range a.lost {
		names = append(names, l.Name)
	}
	return names
}

type notLoaded struct {
	Message  string       `json:"message"`
	Codon    plan.CodonID `json:"codon"`
	Fatal    bool         `json:"fatal"`
	Severity string       `json:"severity"`
	Code     string       `json:"code"`
}

// tellNotLoaded says which sentinels are missing, in the journal and to who follows the run;
// and where nothing is observed, that none is run.
func (a *attempt) tellNotLoaded() {
	if n := len(a.Entry.Codon.Sentinels); n > 0 && (a.Idle || a.replays()) {
		a.host.Say("%s not run: no agent works (%s)", term.Count(n, "sentinel"), a.Harness.Name())
	}
	for _, l := range a.lost {
		text := fmt.Sprintf("sentinel %s is not loaded: %s", l.Name, l.Why)
		a.host.Note("error", notLoaded{text, a.Entry.CodonID, false, "warning", "SENTINEL_LOAD_FAILURE"})
		a.host.Say("%s", text)
	}
}

// startSentinels lets those that are ready observe, from the first event of the attempt. It
// fails a codon that is not to run without one that is missing.
func (a *attempt) startSentinels() (*state.FailureReason, error) {
	for _, l := range a.lost {
		if l.Required {
			return &state.FailureReason{Type: state.FailSentinelLoad, Class: "sentinel", Rule: "not-loaded", SentinelRefs: []string{l.Name},
				Message: fmt.Sprintf("it is not to run without sentinel %s (failCodonIfNotLoaded), which cannot be loaded: %s", l.Name, l.Why)}, nil
		}
	}
	if len(a.ready) == 0 {
		return nil, nil
	}
	c := a.Entry.Codon
	a.watch = sentinel.Start(sentinel.Watch{
		CodonID: a.Entry.CodonID, About: config.AboutCodon{ID: string(a.Entry.CodonID), Name: c.Name, Description: c.Description, StartTime: a.host.Live().StartTime.Time},
		Workspace: a.Layout.Workspace, Managed: a.Layout.SentinelOutputs(a.Entry.CodonID), Clock: sentinel.Wall{},
		Follow: a.Follow, Last: a.Journaled, From: a.From,
	}, a.ready)
	return nil, a.hearSentinels()
}

// watched is what the sentinels have cost so far.
func (a *attempt) watched() state.USD { return a.watch.Cost() }

// hearSentinels records what the sentinels have done. An answer is written to its files only
// after what it has cost is durable.
func (a *attempt) hearSentinels() error {
	if a.watch == nil {
		return nil
	}
	t := a.watch.Take()
	if t.Sentinels != nil {
		failpoint.Hit("sentinel.answered")
		if err := a.host.Record(state.SentinelsUpdated{RunID: a.Run, CodonID: a.Entry.CodonID, Sentinels: t.Sentinels}); err != nil {
			return err
		}
		failpoint.Hit("sentinel.recorded")
		a.host.Monitor().Change(func(now *Activity) { now.Cost = a.bill().Cost })
	}
	for _, n := range t.Notes {
		a.host.Note(n.Type, n.Data)
	}
	t.Recorded()
	for _, w := range t.Wishes {
		a.grant(w)
	}
	return nil
}

// grant does what a sentinel wishes, once. Behind the agent's work there is nothing left to
// skip, and the run stops after the codon.
func (a *attempt) grant(w sentinel.Wish) {
	over := a.host.Live().Status == state.CompletingSentinels
	if a.ends || a.stop != nil || a.skip || over && w.Action == "skip" {
		return
	}
	what, r := "stops the run", Request{Signal: StopNow, Reason: state.EndStopped, Code: exitcode.Stopped}
	switch {
	case w.Action == "skip":
		what, r = "skips the codon", Request{Signal: SkipCodon}
	case over:
		r.Signal = StopAfterCodon
	}
	text := fmt.Sprintf("sentinel %s %s", w.Sentinel, what)
	if w.Reason != "" {
		text += ": " + harness.Excerpt(w.Reason, 500)
	}
	a.host.Say("%s", text)
	a.notes = append(a.notes, text)
	a.ends, _ = a.signalled(r)
}

// finishSentinels waits for the sentinels, whose work has an end: what they have not done
// when their time is over is cut, and their accounts say so.
func (a *attempt) finishSentinels(ctx context.Context) error {
	if a.watch == nil {
		return nil
	}
	reason, when := observer.UnloadComplete, ""
	longest := a.watch.Drain()
	if a.stopping() || a.exceeded != nil {
		reason, when = observer.UnloadShutdown, "when the codon was ended"
	} else {
		a.host.Monitor().Step(fmt.Sprintf("waiting for its sentinels (%s at most)", longest))
		finished, timer := a.watch.Finish(a.lastEvent()), time.NewTimer(longest)
		defer timer.Stop()
		for finished != nil && when == "" {
			select {
			case <-finished:
				finished = nil
			case <-a.watch.News():
				if err := errors.Join(a.hearSentinels(), a.warn(time.Now())); err != nil {
					return err
				}
				if a.overBudget() {
					reason, when = observer.UnloadShutdown, "when a budget was used up"
				}
			case <-timer.C:
				when = sentinel.TimeOver(longest)
			case r := <-a.host.Requests():
				if a.endsWait(r) {
					reason, when = observer.UnloadShutdown, "on request"
				}
			case <-ctx.Done():
				reason, when = observer.UnloadShutdown, "with the run"
			}
		}
	}
	return a.endSentinels(reason, when)
}

// endsWait takes in a request while only sentinels are waited for, and reports whether it
// ends the wait. The work of the codon is done, so that there is nothing to skip.
func (a *attempt) endsWait(r Request) bool {
	if r.Do == nil && r.Signal == SkipCodon && a.isMeant(r) {
		if r.Operation != nil {
			_ = a.host.Record(state.OperationAnswered{Operation: *r.Operation}) // what follows fails by itself
		}
		a.host.Say("the work of the codon has ended: only its sentinels are skipped")
		return true
	}
	stop, force := a.signalled(r)
	return stop || force
}

// lastEvent is the codon.completed of the codon, as the record will have it: the sentinels
// are told before the record is final, so that what they do about it is in it.
func (a *attempt) lastEvent() (last []config.Event) {
	final := a.host.Live().Conclude(a.host.Now())
	for _, n := range notices.OfCodon(final, final.EndTime.Sub(final.StartTime.Time), false) {
		if n.Type != "codon.completed" {
			continue
		}
		if data, err := json.Marshal(n.Data); err == nil {
			last = append(last, config.NewEvent("", final.EndTime.Time, n.Type, data))
		}
	}
	return last
}

// endSentinels ends the sentinels, and records what they have done.
func (a *attempt) endSentinels(reason, when string) error {
	if a.watch == nil {
		return nil
	}
	a.watch.Close(reason, when)
	err := errors.Join(a.hearSentinels(), a.warn(time.Now()))
	watch := a.watch
	a.watch = nil
	if err != nil || a.host.Live().Sentinels == nil {
		return err
	}
	var said []string
	for _, s := range a.host.Live().Sentinels.Loaded {
		if s.Cut != "" {
			said = append(said, fmt.Sprintf("sentinel %s: %s", s.ID, s.Cut))
		}
		if s.DroppedTriggers > 0 && s.Cut == "" {
			said = append(said, fmt.Sprintf("sentinel %s: %s dropped", s.ID, term.Count(s.DroppedTriggers, "trigger")))
		}
		if s.Unpriced {
			said = append(said, fmt.Sprintf("sentinel %s: no price is known for its model %s: what it cost (%d tokens) is in no figure", s.ID, s.Model, s.Tokens.Sum()))
		}
		if s.UncountedCalls > 0 {
			said = append(said, fmt.Sprintf("sentinel %s: the provider did not say what %s used: what that cost is in no figure", s.ID, term.Count(s.UncountedCalls, "call")))
		}
		if s.UnloadReason == observer.UnloadFatal || s.UnloadReason == observer.UnloadFailures {
			said = append(said, fmt.Sprintf("sentinel %s was given up (%s): %s", s.ID, strings.ReplaceAll(s.UnloadReason, "-", " "), harness.Excerpt(watch.TroubleOf(s.ID).Last, 500)))
		}
		if t := watch.TroubleOf(s.ID); t.Unwritten > 0 {
			said = append(said, fmt.Sprintf("sentinel %s: %s not written to its files: %s", s.ID, term.Count(t.Unwritten, "answer"), harness.Excerpt(t.Write, 500)))
		}
	}
	for _, text := range said {
		a.host.Say("%s", text)
	}
	return nil
}

// dropSentinels ends them where nothing more is recorded.
func (a *attempt) dropSentinels() {
	if a.watch != nil {
		a.watch.Close(observer.UnloadShutdown, "")
	}
}
