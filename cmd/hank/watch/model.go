package watch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"hank/internal/secret"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/recovery/layout"
	"hank/runtime/harness/transcript"
	"hank/runtime/history"
	"hank/runtime/liveview"
	"hank/runtime/logview"
	"hank/runtime/report"
	"hank/runtime/screen"
	"hank/runtime/verdict"
)

// listEvery is how often the list of executions is read again, and clockEvery how often a time
// that is shown of a run in progress is.
const (
	listEvery  = 2 * time.Second
	clockEvery = time.Second
)

// model joins the screen and the files. Bubbletea calls its methods one at a time.
type model struct {
	ctx      context.Context
	settings report.Settings
	screen   *screen.Screen
	list     *liveview.List
	follower *liveview.Follower
	mask     func(string) string
	focused  bool
	took     time.Duration // the last look at the files

	logOf   string // the transcript that is open
	listed  time.Time
	clock   time.Time
	showing uint64 // the event whose page was read last
	frame   string // as it was drawn last
	stale   bool   // it is to be drawn again
}

// The messages.
type (
	tickMsg   struct{}
	listedMsg struct {
		list *liveview.Executions
		err  error
	}
	polledMsg struct {
		of      *liveview.Follower
		changed bool
		err     error
		took    time.Duration
	}
	openedMsg struct {
		follower *liveview.Follower
		err      error
	}
	shownMsg struct {
		of     screen.Show
		text   string
		failed bool
	}
	graphedMsg struct {
		of   *liveview.Follower
		list *report.Checkpoints
		err  error
	}
	toldMsg struct{ text string }
)

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	m.stale = true
	m.screen.Now = time.Now()
	m.openLog()
	if m.follower != nil {
		return tea.Batch(tick(), m.poll())
	}
	return tea.Batch(tick(), m.readList())
}

func tick() tea.Cmd {
	return tea.Tick(liveview.Every, func(time.Time) tea.Msg { return tickMsg{} })
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tickMsg:
		return m, m.tick()
	case tea.WindowSizeMsg:
		m.screen.Resize(msg.Width, msg.Height)
	case tea.FocusMsg:
		m.focused = true
	case tea.BlurMsg:
		m.focused = false
		return m, nil
	case tea.PasteMsg:
		m.screen.Typed(msg.Content)
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+z" {
			return m, tea.Suspend
		}
		cmds := m.screen.Key(msg.String())
		m.openLog()
		m.stale = true
		return m, m.obey(cmds)
	case listedMsg:
		if msg.err != nil {
			m.screen.Failed(msg.err.Error())
		} else {
			m.screen.Listed(msg.list)
		}
	case openedMsg:
		if msg.err != nil {
			m.screen.Failed(verdict.Sentence(msg.err))
			break
		}
		m.follower = msg.follower
		m.screen.Viewed(m.follower.View())
		m.openLog()
		m.stale = true
		return m, m.poll()
	case polledMsg:
		return m, m.polled(msg)
	case shownMsg:
		m.screen.Shown(msg.of, msg.text, msg.failed)
	case graphedMsg:
		if msg.of != m.follower {
			return m, nil // another one is watched now
		}
		m.screen.Graphed(msg.list, msg.err)
	case toldMsg:
		m.screen.Told(msg.text)
	default:
		return m, nil
	}
	m.stale = true
	return m, nil
}

// View implements tea.Model.
func (m *model) View() tea.View {
	if m.stale {
		m.frame, m.stale = strings.Join(m.screen.Draw(), "\n"), false
	}
	v := tea.NewView(m.frame)
	v.AltScreen, v.ReportFocus = true, true
	return v
}

// tick takes in what the transcript has got, lets the clock go on, and looks at the list. It leaves
// when the terminal is gone: where hangups are ignored, as under nohup, nothing else tells.
func (m *model) tick() tea.Cmd {
	if !term.IsTerminal(os.Stdin) {
		return tea.Quit
	}
	now := time.Now()
	if m.screen.Log == nil { // it may be there by now
		m.openLog()
		m.stale = m.stale || m.screen.Log != nil
	} else if changed, err := m.screen.Log.Refresh(); changed || err != nil {
		m.stale = true
	}
	if m.screen.Going() && m.focused && now.Sub(m.clock) >= clockEvery {
		m.clock, m.screen.Now, m.stale = now, now, true
	}
	if m.follower == nil && now.Sub(m.listed) >= listEvery {
		return tea.Batch(tick(), m.readList())
	}
	return tick()
}

func (m *model) readList() tea.Cmd {
	m.listed = time.Now().Add(time.Hour) // not again before this one has come
	return func() tea.Msg {
		list, err := m.list.Read()
		return listedMsg{list, err}
	}
}

// poll looks at the files of the execution.
func (m *model) poll() tea.Cmd {
	f := m.follower
	return tea.Tick(max(liveview.Every, liveview.Rest(m.took)), func(now time.Time) tea.Msg {
		changed, err := f.Poll(m.ctx)
		return polledMsg{f, changed, err, time.Since(now)}
	})
}

// polled takes in what there is in the files, and has them looked at again.
func (m *model) polled(msg polledMsg) tea.Cmd {
	if msg.of != m.follower {
		return nil // another one is watched now
	}
	m.took = msg.took
	if msg.err != nil {
		m.screen.Failed(verdict.Sentence(msg.err))
		m.stale = true
		return m.poll()
	}
	if !msg.changed {
		return m.poll()
	}
	v := msg.of.View()
	if m.screen.Now.Before(v.At) {
		m.screen.Now = v.At
	}
	m.screen.Viewed(v)
	m.openLog()
	m.stale = true
	if v.Status.Seq != m.showing { // a page is read again after each transition
		m.showing = v.Status.Seq
		return tea.Batch(m.poll(), m.obey(m.screen.Again()))
	}
	return m.poll()
}

// openLog opens the transcript of the selected codon.
func (m *model) openLog() {
	path, start := "", transcript.Start{}
	var workspace, index string
	if n := m.screen.Selected(); n != nil && n.Record != nil && m.follower != nil {
		v := m.follower.View()
		path, start = v.Transcript(n.Record), transcript.Start{Harness: n.Record.Harness, Model: n.Record.Model}
		workspace, index = v.Recovery().Layout.Workspace, layout.Layout{Root: v.Execution}.Index()
	}
	if path == m.logOf {
		return
	}
	m.screen.Log.Close()
	m.logOf = ""
	if path == "" {
		m.screen.SetLog(nil)
		return
	}
	l, err := screen.OpenLog(path, index, start, logview.Style{Columns: m.screen.Width, Workspace: workspace, Mask: m.mask})
	if err != nil { // it is opened as soon as it is there
		m.screen.SetLog(nil)
		return
	}
	m.logOf = path
	_, _ = l.Refresh()
	m.screen.SetLog(l)
}

func (m *model) close() { m.screen.Log.Close() }

// obey does what keys have asked for.
func (m *model) obey(list []screen.Command) tea.Cmd {
	var cmds []tea.Cmd
	for _, c := range list {
		switch c := c.(type) {
		case screen.Quit:
			return tea.Quit
		case screen.Enter:
			cmds = append(cmds, func() tea.Msg {
				f, err := liveview.Open(m.ctx, c.Execution, m.settings, report.OptionFor(c.Execution))
				return openedMsg{f, err}
			})
		case screen.Leave:
			m.follower = nil
			m.openLog()
			cmds = append(cmds, m.readList())
		case screen.Show:
			m.showing = m.follower.View().Status.Seq
			cmds = append(cmds, m.show(c))
		case screen.Graph:
			m.showing = m.follower.View().Status.Seq
			cmds = append(cmds, m.graph(c))
		case screen.Do:
			cmds = append(cmds, m.do(c))
		case screen.Pager:
			cmds = append(cmds, tea.ExecProcess(hank(c.Args), func(err error) tea.Msg { return toldMsg{said(err)} }))
		case screen.Stream:
			cmds = append(cmds, tea.Exec(&stream{args: c.Args}, func(err error) tea.Msg { return toldMsg{said(err)} }))
		case screen.Copy:
			cmds = append(cmds, tea.SetClipboard(c.Text))
		}
	}
	return tea.Batch(cmds...)
}

// said is an error in words; nothing where there is none.
func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// mostShown is how many bytes of the output of a command a page has.
const mostShown = 4 << 20

// show runs a command for its output.
func (m *model) show(c screen.Show) tea.Cmd {
	return func() tea.Msg {
		cmd := hank(c.Args)
		cmd.Env = append(cmd.Environ(), "NO_COLOR=1", "PAGER=cat")
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := beginningOf(cmd, mostShown+1<<20) // with a secret whole that begins at the end
		text, isCut := secret.Beginning(string(out), mostShown, m.mask)
		var failed *exec.ExitError
		switch {
		case isCut:
			text += "\nthe rest is left out; all of it: hank"
			for _, arg := range c.Args {
				text += " " + shell.Quote(arg)
			}
		case errors.As(err, &failed):
			text += m.mask(said.String())
		case err != nil:
			text += err.Error()
		}
		if strings.TrimSpace(text) == "" {
			text = "nothing"
		}
		return shownMsg{c, text, err != nil && !isCut}
	}
}

// beginningOf runs a command that only reads for so many bytes of its output, and ends it then.
func beginningOf(cmd *exec.Cmd, most int64) ([]byte, error) {
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(pipe, most))
	if int64(len(out)) == most {
		_ = cmd.Process.Kill()
	}
	return out, errors.Join(err, cmd.Wait())
}

// graph reads the checkpoints of the execution.
func (m *model) graph(c screen.Graph) tea.Cmd {
	f := m.follower
	v := f.View().Recovery()
	return func() tea.Msg {
		list, err := report.ReadCheckpoints(m.ctx, v, history.ListOptions{Limit: c.Limit})
		if err != nil {
			return graphedMsg{of: f, err: errors.New(m.mask(verdict.Sentence(err)))}
		}
		for i := range list.Checkpoints {
			list.Checkpoints[i].Name = m.mask(list.Checkpoints[i].Name)
		}
		return graphedMsg{f, list, nil}
	}
}

// do runs a command that acts, and tells what it has said last.
func (m *model) do(c screen.Do) tea.Cmd {
	return func() tea.Msg {
		out, err := hank(c.Args).CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
		if len(lines) == 0 {
			return toldMsg{said(err)}
		}
		return toldMsg{m.mask(strings.Join(lines, "; "))}
	}
}

// hank is another command of this program.
func hank(args []string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.Command(self, args...)
}
