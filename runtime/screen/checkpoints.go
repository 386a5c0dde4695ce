package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hank/internal/advice"
	"hank/internal/term"
	"hank/runtime/history"
	"hank/runtime/report"
	"hank/state"
)

// listed is how many checkpoints are read at first, and how many more each time the selection
// comes to the end of those.
const listed = 500

// checkpoints is what the page of checkpoints has.
type checkpoints struct {
	lines  []history.GraphLine // nil: they are being read
	wanted int                 // how many checkpoints were asked for
	more   bool                // there may be older ones
	lacks  string              // what the list lacks, or why there is none
	chosen state.SHA           // of the row that is selected
	marked state.SHA           // with which the selected one is compared; empty: none is
}

// Graphed gives the screen the checkpoints that a Graph has asked for.
func (s *Screen) Graphed(list *report.Checkpoints, err error) {
	g := &s.graph
	if err != nil {
		g.lines, g.lacks = []history.GraphLine{}, term.OneLine(err.Error())
		return
	}
	g.lines, g.lacks = append([]history.GraphLine{}, history.Graph(list.Checkpoints)...), ""
	g.more = g.wanted > 0 && len(list.Checkpoints) >= g.wanted
	var lacks []string
	if n := len(list.Lost); n > 0 {
		lacks = append(lacks, fmt.Sprintf("%s missing from the store (hank doctor)", term.Count(n, "checkpoint")))
	}
	if n := len(list.Removed); n > 0 {
		lacks = append(lacks, fmt.Sprintf("those of %s were removed by hank gc", term.Count(n, "run")))
	}
	g.lacks = strings.Join(lacks, ", ")
	if g.find(g.marked) < 0 {
		g.marked = ""
	}
	if g.find(g.chosen) < 0 {
		g.chosen = ""
		for _, l := range g.lines { // the one that the workspace was last at, or else the newest
			if l.At != nil && (l.At.Current || g.chosen == "") {
				g.chosen = l.At.SHA
			}
		}
	}
}

// find is the line of a checkpoint; -1: it has none.
func (g *checkpoints) find(sha state.SHA) int {
	return slices.IndexFunc(g.lines, func(l history.GraphLine) bool { return l.At != nil && l.At.SHA == sha })
}

// selected is the checkpoint that is selected; nil: none is.
func (g *checkpoints) selected() *history.Listed {
	if at := g.find(g.chosen); at >= 0 {
		return g.lines[at].At
	}
	return nil
}

// move moves the selection by checkpoints: lines between two of them are passed over.
func (g *checkpoints) move(by int) {
	at := g.find(g.chosen)
	step := 1
	if by < 0 {
		step, by = -1, -by
	}
	for at += step; by > 0 && at >= 0 && at < len(g.lines); at += step {
		if l := g.lines[at].At; l != nil {
			g.chosen = l.SHA
			by--
		}
	}
}

// ask asks for the checkpoints, for more of them where the selection is at the end of those that
// are there.
func (g *checkpoints) ask() []Command {
	if last := len(g.lines) - 1; g.wanted == 0 || g.more && g.find(g.chosen) == last {
		g.wanted, g.more = g.wanted+listed, false
	}
	return []Command{Graph{g.wanted}}
}

// showCheckpoints goes to the page of checkpoints.
func (s *Screen) showCheckpoints() []Command {
	s.page, s.under = Checkpoints, Run
	return s.graph.ask()
}

// checkpointKey are the keys of the page of checkpoints alone; false: it is none of them.
func (s *Screen) checkpointKey(key string) ([]Command, bool) {
	g := &s.graph
	at := g.selected()
	if at == nil {
		return nil, false
	}
	switch key {
	case "space", " ":
		if g.marked == at.SHA {
			g.marked = ""
		} else {
			g.marked = at.SHA
		}
		return nil, true
	case "enter", "d", "right", "l":
		return s.compare(at), true
	case "w":
		return s.showOver(Diff, []string{"diff", sha(at.SHA), "--patch"}), true
	case "r":
		return s.rollbackTo(at.SHA, nameOf(at)), true
	case "y":
		s.notice = "the name of the checkpoint was sent to the clipboard (OSC 52), if the terminal takes it"
		return []Command{Copy{string(at.SHA)}}, true
	}
	return nil, false
}

// compare shows the difference from the marked checkpoint to another one; where none is marked,
// what has changed since the one before it.
func (s *Screen) compare(at *history.Listed) []Command {
	from := s.graph.marked
	switch {
	case from == at.SHA:
		s.notice = "this one is marked; select the one to compare it with"
		return nil
	case from == "" && len(at.Parents) == 0:
		s.notice = "there is none before it; mark another one with the space bar, or w compares it with the workspace"
		return nil
	case from == "":
		from = at.Parents[0]
	}
	return s.showOver(Diff, []string{"diff", sha(from), sha(at.SHA), "--patch"})
}

// sha is a checkpoint as a target of commands.
func sha(of state.SHA) string { return "sha:" + string(of) }

// nameOf says which checkpoint one is.
func nameOf(at *history.Listed) string {
	switch {
	case at.Kind == "":
		return "a commit of another program"
	case at.CodonID != "":
		return string(at.CodonID) + ":" + string(at.Kind)
	}
	return string(at.Kind)
}

// rollbackTo asks about a rollback to a checkpoint, with its preview.
func (s *Screen) rollbackTo(to state.SHA, name string) []Command {
	if s.view.Live {
		s.notice = "a run is in progress; stop it first (S or X)"
		return nil
	}
	return s.ask(fmt.Sprintf("roll the workspace back to %s (checkpoint %.12s)? The present state is kept in a checkpoint; ", name, to)+advice.Render("`hank rollback --undo` restores it.", s.view.Option),
		[]string{"rollback", sha(to), "--dry-run"}, s.args("rollback", sha(to), "--yes"))
}

// drawCheckpoints are the rows of the page of checkpoints.
func (s *Screen) drawCheckpoints(rows int) []string {
	g := &s.graph
	title := "checkpoints, newest first"
	if g.lacks != "" {
		title += "; " + g.lacks
	}
	out := []string{s.paint(bold, s.fit(title, s.Width))}
	if len(g.lines) == 0 {
		if g.lines == nil {
			out = append(out, s.paint(dim, "reading"))
		}
		return out
	}
	at, room := max(0, g.find(g.chosen)), rows-1
	from := max(0, min(at-room/2, len(g.lines)-room))
	for i := from; i < len(g.lines) && len(out) < rows; i++ {
		l := g.lines[i]
		text, code := l.Draw, dim
		if k := l.At; k != nil {
			text += fmt.Sprintf("  %s  %s  %s", report.Short(k.SHA), k.Time.Local().Format(time.DateTime), nameOf(k))
			if k.Name != "" && (k.Kind == state.KindRecovery || k.Kind == "") {
				text += " " + report.ShortNames(term.OneLine(k.Name))
			}
			code = plainText
			if k.SHA == g.marked {
				text, code = text+"  <- marked", yellow
			}
			if k.Current {
				text += "  <- current workspace"
			}
			if k.Cut {
				text += "  <- earlier history is lost"
			}
		}
		out = append(out, s.row(l.At != nil && i == at, code, text, s.Width))
	}
	return out
}
