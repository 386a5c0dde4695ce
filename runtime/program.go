package runtime

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"hank/plan"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/history"
	"hank/runtime/question"
	"hank/runtime/verdict"
	"hank/state"
)

// chooseProgram decides which program the run follows: the author's at first,
// then the frozen one. When they differ the user decides; but a retry takes over
// what the author has changed for the very codon that is done again.
func (d *driver) chooseProgram(ctx context.Context, live *plan.Program, loadErr error) error {
	s := d.x.State()
	if s.Program == "" {
		if live == nil {
			return loadErr
		}
		if s.Adopted {
			if err := d.askAboutHankweaves(live); err != nil {
				return err
			}
		}
		return d.adopt(ctx, live)
	}
	frozen, err := d.x.LoadProgram(s.Program)
	if err != nil {
		if err := d.askAboutLostProgram(live, err, loadErr); err != nil {
			return err
		}
		return d.adopt(ctx, live)
	}
	d.program = frozen
	if with := d.request.LayersFor(frozen.Model); with.Flags.Model != d.layers.Flags.Model {
		d.layers = with
		live, _, loadErr = hankfile.LoadFor(d.x.Layout.Root, d.request, with)
	}
	if live == nil && errors.Is(loadErr, os.ErrNotExist) {
		if path := d.x.Meta().HankPath; path != "" {
			d.say("the hank %s is gone; using the frozen one", path)
		} else { // an import does not know it
			d.say("where the hank of this execution is, is not known here; using the frozen one")
		}
	}
	changes := hankfile.HankChanges(s, frozen, live, loadErr)
	if len(changes) == 0 && live != nil && d.answers.Adopt {
		for _, m := range hankfile.Repriced(frozen, live) {
			changes = append(changes, "the price or the size of "+m)
		}
	}
	if len(changes) == 0 || d.answers.Frozen {
		return d.replan()
	}
	if live != nil && !d.answers.Adopt && d.replay == nil && !d.noop {
		if wrong := question.Unparsable(ctx, s, live, d.from, d.request, d.hankPath); wrong != nil { // it would not run
			live, loadErr, changes = nil, wrong, hankfile.HankChanges(s, frozen, nil, wrong)
		}
	}
	if own := hankfile.OwnChanges(s, d.request, frozen, live); len(own) > 0 && !d.answers.Adopt {
		d.say("%s: uses your changed %s", history.LastRecord(d.x.State()).CodonID, strings.Join(own, ", "))
		return d.adopt(ctx, live)
	}
	for _, c := range changes {
		d.say("  %s", c)
	}
	adopt := d.answers.Adopt
	ask, _ := question.OfHank(s, frozen, live, changes, d.request, d.replay != nil || d.noop)
	if !adopt && slices.Contains(ask.Answers, "--frozen") {
		switch d.ui.Choose(hankfile.HankChanged, "use the new version", "use the stored copy") {
		case 0:
			adopt = true
		case 1:
			d.answers.Frozen = true
			return d.replan()
		}
	}
	if !adopt {
		return ask
	}
	if live == nil {
		return loadErr
	}
	if note := hankfile.Kept(s, d.request, frozen, live); note != "" {
		d.say("%s", note)
	}
	return d.adopt(ctx, live)
}

// askAboutLostProgram asks where the frozen program is lost with the store whether
// the hank as it is now may take its place. One that says the same does.
func (d *driver) askAboutLostProgram(live *plan.Program, why, loadErr error) error {
	ask, answer := hankfile.LostProgram(d.x.State(), cmp.Or(d.request.Hank, d.x.Meta().HankPath, "the hank"), live, why, loadErr)
	switch {
	case ask == nil:
		d.say("%v; the hank is the one that was frozen, and replaces it", why)
		return nil
	case answer != "" && (d.answers.Adopt || d.ui.Choose(ask.What, "continue with the current hank", "leave it") == 0):
		d.say("note: %s; using the current hank instead", ask.What)
		return nil
	}
	return ask
}

// adopt freezes the author's program and lays out its plan from what is settled. Where it
// is from another file than before, later runs compare with that one.
func (d *driver) adopt(ctx context.Context, p *plan.Program) error {
	hash := hankfile.ProgramHash(p)
	sha, err := d.x.Freeze(ctx, p)
	if err != nil {
		return err
	}
	d.program = p
	entries, err := history.EncodeEntries(githistory.Derive(p, d.x.State()))
	if err != nil {
		return err
	}
	was := d.x.State()
	d.replaced.Program, d.replaced.HankHash = was.Program, was.HankHash
	d.replacedPath = d.x.Meta().HankPath
	if err := d.x.Record(state.PlanSet{Program: sha, HankHash: hash, Entries: entries}); err != nil {
		return err
	}
	return d.x.SetMeta(func(m *layout.Meta) {
		m.HankHash = hash
		if utf8.ValidString(d.hankPath) { // any other cannot be kept
			m.HankPath = cmp.Or(d.hankPath, m.HankPath)
		}
	})
}

// withdraw undoes what this command has adopted, where it ends with a question, or
// is refused, before it has moved anything: it is to change nothing then. The
// command that follows adopts again, as one with its move, so that an undo reverts
// both. Its limits and its cap go, too. It returns the reason; a frozen program that
// cannot be read stays replaced.
func (d *driver) withdraw(why error) error {
	switch verdict.CodeOf(why) {
	case exitcode.Usage, exitcode.Invalid, exitcode.Decision, exitcode.Agent:
		return errors.Join(why, d.unadopt(), d.forgetLimits())
	}
	return why
}

func (d *driver) unadopt() error {
	if d.replaced.Program == "" {
		return nil
	}
	was, err := d.x.LoadProgram(d.replaced.Program)
	if err != nil {
		return nil
	}
	entries, err := history.EncodeEntries(githistory.Derive(was, d.x.State()))
	if err == nil {
		err = d.x.Record(state.PlanSet{Program: d.replaced.Program, HankHash: d.replaced.HankHash, Entries: entries})
	}
	if err == nil {
		err = d.x.SetMeta(func(m *layout.Meta) { m.HankHash, m.HankPath = d.replaced.HankHash, d.replacedPath })
	}
	return err
}

// replan derives the plan again where it is not what program and outcomes make
// of it: after a rollback, or after a crash between a codon's end and the
// growth of its loop.
func (d *driver) replan() error { return history.Replan(d.x, d.program) }
