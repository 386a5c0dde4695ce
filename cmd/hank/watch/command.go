package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/secret"
	"hank/internal/term"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/liveview"
	"hank/runtime/report"
	"hank/runtime/report/eventlog"
	"hank/runtime/screen"
	"hank/runtime/verdict"
)

// Command is hank watch.
func Command() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "watch runs on the whole screen, and act from there", ArgsUsage: "[DIR]",
		Description: `Without DIR: the execution here, or a list of all executions of this user, those that need
you first. Watching reads files alone: it starts, stops and delays nothing, and it is the
same for executions that run, are detached, have crashed or are finished. Leaving it does
not end the run.

The keys are under ?. From there you answer a gate, skip, stop and roll back: each shows
first what it is about, and asks.

With --plain, ACCESSIBLE=1, TERM=dumb, or without a terminal, it prints one line for each
event, the last 20 first, until the run ends. NO_COLOR takes the colours away.

Examples: hank watch
          hank watch DIR --plain

Exit code 0: left, or the run has ended; 2: there is no execution in DIR; 4: the state
cannot be read.`,
		Flags: []cli.Flag{call.ExecutionFlag, &cli.BoolFlag{Name: "plain", Usage: "print a line for each event instead"}},
		Action: func(c *cli.Context) error {
			if err := call.Arguments(c, 0, 1); err != nil {
				return err
			}
			root, err := place(c)
			if err != nil {
				return err
			}
			if isPlain(c) {
				return plain(c, root)
			}
			return full(c, root)
		},
	}
}

// place is the execution to watch; empty: all.
func place(c *cli.Context) (string, error) {
	if dir := c.Args().First(); dir != "" {
		if c.IsSet("execution") {
			return "", &exitcode.UsageError{Why: "DIR and --execution are mutually exclusive"}
		}
		return layout.At(dir)
	}
	root, err := call.ExecutionOf(c)
	var none *layout.NotFoundError
	if errors.As(err, &none) && !c.IsSet("execution") {
		return "", nil
	}
	return root, err
}

// isPlain reports whether lines are wanted, or nothing else can be shown.
func isPlain(c *cli.Context) bool {
	accessible := os.Getenv("ACCESSIBLE")
	return c.Bool("plain") || accessible != "" && accessible != "0" && accessible != "false" || os.Getenv("TERM") == "dumb" ||
		!term.IsTerminal(os.Stdout) || !term.IsTerminal(os.Stdin)
}

// plainEvents is how many events of the past are printed first.
const plainEvents = 20

// errOver ends the following.
var errOver = errors.New("the run is over")

// plain prints a line for each event of an execution until its run ends, or one for each
// execution.
func plain(c *cli.Context, root string) error {
	if root == "" {
		return plainList(c)
	}
	v, err := recovery.Read(root)
	if err != nil {
		return err
	}
	option := report.OptionFor(root)
	ended := false
	sink := eventlog.Sink{Event: func(e eventlog.Event) error {
		if err := call.Say("%6d  %s  %-20s  %s\n", e.Seq, e.Timestamp.Local().Format(time.DateTime), e.Name(), e.Sentence(option)); err != nil {
			return err
		}
		if ended = ended || v.Live && isEnd(e.Name()); ended {
			return errOver
		}
		return nil
	}, Damage: func(why string) { _ = call.Remark("hank: %s\n", call.ForThis(c, why)) }}
	q := eventlog.Query{Limit: plainEvents, Text: true}
	if v.Live {
		before := v.State.Seq
		if err := eventlog.Read(v, eventlog.Query{Limit: plainEvents, Before: before + 1, Text: true}, eventlog.Sink{Event: func(e eventlog.Event) error {
			return call.Say("%6d  %s  %-20s  %s\n", e.Seq, e.Timestamp.Local().Format(time.DateTime), e.Name(), e.Sentence(option))
		}, Damage: sink.Damage}); err != nil {
			return err
		}
		err = followPlain(c.Context, v, before, sink)
	} else {
		err = eventlog.Read(v, q, sink)
	}
	if err != nil && !errors.Is(err, errOver) {
		return err
	}
	return sayWhere(c.Context, c, root)
}

// followPlain follows a run to its end, however that comes.
func followPlain(ctx context.Context, v *recovery.View, after uint64, to eventlog.Sink) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // a runtime that is killed tells no end
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
			if now, err := recovery.ReadSummary(v.Layout.Root); err != nil || !now.Live {
				cancel(errOver)
				return
			}
		}
	}()
	next := to
	next.Event = func(e eventlog.Event) error {
		if e.Seq <= after {
			return nil
		}
		return to.Event(e)
	}
	err := eventlog.Follow(ctx, v, eventlog.Query{Limit: plainEvents, Text: true}, next)
	return cmp.Or(context.Cause(ctx), err)
}

// isEnd reports whether an event is the last of its run.
func isEnd(name string) bool {
	switch name {
	case "run.completed", eventlog.RunEnded, "run.failed", "run.paused", "run.crashed":
		return true
	}
	return false
}

// plainList prints a line for each execution, those that need a person first.
func plainList(c *cli.Context) error {
	list, err := liveview.NewList(call.SettingsHere(c)).Read()
	if err != nil {
		return err
	}
	if len(list.Rows) == 0 {
		return call.Say("no executions of this user on this machine; to start one: hank run HANK\n")
	}
	for _, e := range list.Rows {
		need := ""
		if e.Need != nil {
			need = ", " + e.Need.Reason.String() + ": " + e.Need.Text
		}
		if err := call.Say("%s: %s, %s, %s, in %s%s\n", e.Name, e.Verdict, verdict.ProgressText(e.Done, e.Extent, e.Caveats), e.Bill.Text(), term.ShortPath(e.Status.Execution), need); err != nil {
			return err
		}
	}
	return nil
}

// full shows the screen.
func full(c *cli.Context, root string) error {
	var secrets secret.Values
	secrets.Add(os.Environ())
	m := &model{ctx: c.Context, settings: call.SettingsHere(c), screen: screen.New(), mask: secrets.Text, focused: true}
	m.screen.Colour = os.Getenv("NO_COLOR") == ""
	m.screen.Plain = !isUTF8()
	m.list = liveview.NewList(m.settings)
	if root != "" { // what is wrong is said before the screen is taken
		f, err := liveview.Open(c.Context, root, m.settings, report.OptionFor(root))
		if err != nil {
			return err
		}
		m.follower = f
		m.screen.Viewed(f.View())
	}
	profile := colorprofile.ANSI
	if !m.screen.Colour {
		profile = colorprofile.ASCII
	}
	if os.Getenv("GOGC") == "" { // it is open for hours, and makes little garbage: see decision 309
		debug.SetGCPercent(25)
	}
	p := tea.NewProgram(m, tea.WithContext(c.Context), tea.WithColorProfile(profile), tea.WithFPS(framesPerSecond()))
	_, err := p.Run()
	m.close()
	if err != nil && !errors.Is(err, tea.ErrInterrupted) {
		return fmt.Errorf("the screen could not be drawn: %w", err)
	}
	if m.follower == nil {
		return nil
	}
	return sayWhere(c.Context, c, m.follower.View().Execution)
}

// framesPerSecond is how often the screen may change: less over a line that may be slow.
func framesPerSecond() int {
	if os.Getenv("SSH_CONNECTION") != "" {
		return 10
	}
	return 60
}

// isUTF8 reports whether the terminal shows other characters than those of ASCII.
func isUTF8() bool {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	return locale != "C" && locale != "POSIX"
}

// sayWhere says where the execution is when it is not watched any more, so that it stays on the
// terminal.
func sayWhere(ctx context.Context, c *cli.Context, root string) error {
	if _, err := os.Stat(filepath.Dir(layout.Layout{Root: root}.State())); err != nil {
		return nil // it was deleted meanwhile
	}
	s, err := report.ReadStatus(ctx, root, call.SettingsHere(c), report.OptionFor(root))
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return nil // what could not be read was said on the screen
	}
	text := fmt.Sprintf("%s: %s, %s, %s", s.Name, s.Verdict, verdict.ProgressText(s.Done, s.Extent, s.Caveats), s.Bill.Text())
	again := "hank watch" + report.OptionFor(root)
	switch n := liveview.NeedOf(s); {
	case s.Live:
		text += "; the run continues; to watch it: " + again
	case s.After != "":
		text += "; next: " + s.After
	case n != nil && n.Command != "":
		text += "; next: " + n.Command
	}
	return call.Say("%s\n", text)
}
