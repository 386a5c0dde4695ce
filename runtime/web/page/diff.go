package page

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"strings"

	"hank/internal/advice"
	"hank/internal/secret"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/runtime/history"
	"hank/runtime/report"
)

// diffPage compares two checkpoints.
type diffPage struct {
	*execution
	Changes *changes
}

// changes are what differs between two checkpoints, or between one and the workspace.
type changes struct {
	From, To string // as the address has them; To is empty for the workspace
	All      string // the command that shows all
	Says     string
	Files    []changedFile
	Added    int
	Deleted  int
	LeftOut  int // differing paths that only one of the two looks at
	Problem  string
}

// changedFile is a file that differs, with its lines if they were wanted or are few.
type changedFile struct {
	report.ChangedPath
	Sign  string
	Lines []diffLine
	Held  bool // its lines are not here, and can be had
	More  int  // lines that are left out
	Cut   bool // bytes are left out
}

// diffLine is a line of a patch.
type diffLine struct {
	Class string
	Text  string
}

// How much of a difference a page shows at once; the rest file by file.
const (
	mostLines      = 2000
	mostBytes      = 1 << 20
	mostOfOneFile  = 20000
	bytesOfOneFile = 4 << 20
)

func (e *execution) diff(ctx context.Context, q url.Values) (string, any, error) {
	return "diff", diffPage{e, e.changes(ctx, q.Get("from"), q.Get("to"), q.Get("file"))}, nil
}

// changes compares two targets; only is the file whose lines are wanted however many.
func (e *execution) changes(ctx context.Context, from, to, only string) *changes {
	out := &changes{From: from, To: to, All: "hank diff"}
	for _, target := range []string{from, to} {
		if target != "" {
			out.All += " " + shell.Quote(target)
		}
	}
	out.All = advice.Render("`"+out.All+" --patch`", e.option)
	d, err := history.Compare(ctx, e.view, from, to)
	if err != nil {
		out.Problem = advice.Render(err.Error(), e.option)
		return out
	}
	defer d.Close()
	stats, err := d.Stat()
	if err != nil {
		out.Problem = err.Error()
		return out
	}
	out.Says = "from " + report.ShortNames(d.From.String()) + " to the workspace"
	if d.To.SHA != "" {
		out.Says = "from " + report.ShortNames(d.From.String()) + " to " + report.ShortNames(d.To.String())
	}
	all := d.Changes
	out.LeftOut = d.LeftOut
	room, space := mostLines, mostBytes
	if only != "" {
		room, space = mostOfOneFile, bytesOfOneFile
	}
	for i, c := range report.DifferenceOf(d, stats).Changes {
		if only != "" && c.Path.Path != only {
			continue
		}
		f := changedFile{ChangedPath: c, Sign: sign(c.Kind)}
		out.Added, out.Deleted = out.Added+c.Added, out.Deleted+c.Deleted
		f.Held = !c.Binary && only == "" && c.Added+c.Deleted > room
		if !c.Binary && !f.Held {
			d.Changes = all[i : i+1]
			e.lines(d, &f, room, max(0, space), only == "")
			room -= len(f.Lines)
			for _, l := range f.Lines {
				space -= len(l.Text) + 1
			}
		}
		out.Files = append(out.Files, f)
	}
	return out
}

// errFull says that a patch is longer than what is shown of it.
var errFull = errors.New("full")

// limited keeps so many bytes of the beginning of what is written to it.
type limited struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	n, err := l.Buffer.Write(p[:min(len(p), l.most-l.Len())])
	if n < len(p) {
		err = errFull
	}
	return n, err
}

// lines adds those of the patch of one file, at most about so many, with so many bytes; whole: all
// bytes or none. Secrets are masked before it is divided: some have several lines.
func (e *execution) lines(d *history.Difference, f *changedFile, most, space int, whole bool) {
	patch := limited{most: space + 1<<20} // with a secret whole that begins at the end
	if err := d.Patch(&patch); err != nil && !errors.Is(err, errFull) {
		f.Lines = []diffLine{{"note", err.Error()}}
		return
	}
	if f.Held = whole && patch.Len() > space; f.Held {
		return
	}
	text, isCut := secret.Beginning(patch.String(), space, e.p.printer.mask)
	f.Cut = isCut
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	inHunk := false
	for i, text := range all {
		if len(f.Lines) >= max(most, 1)+200 {
			f.More = len(all) - i
			return
		}
		inHunk = inHunk || strings.HasPrefix(text, "@@")
		if class := lineClass(text, inHunk); class != "" {
			f.Lines = append(f.Lines, diffLine{class, text})
		}
	}
}

// lineClass is how a line of a patch looks: before the first hunk it is a head, in which what the
// name of the file has said already is left out (empty). A deleted line may begin as a head does.
func lineClass(text string, inHunk bool) string {
	switch {
	case !inHunk:
		for _, known := range []string{"+++", "---", "diff ", "index "} {
			if strings.HasPrefix(text, known) {
				return ""
			}
		}
		return "head"
	case strings.HasPrefix(text, "@@"):
		return "hunk"
	case strings.HasPrefix(text, "+"):
		return "add"
	case strings.HasPrefix(text, "-"):
		return "del"
	}
	return "same"
}

func sign(kind string) string {
	switch kind {
	case "added":
		return "A"
	case "deleted":
		return "D"
	case "type changed":
		return "T"
	}
	return "M"
}

// Summary says how much has changed.
func (c *changes) Summary() string {
	says := "no differences"
	if len(c.Files) > 0 {
		says = term.Count(len(c.Files), "file") + ", " + term.Count(c.Added, "line") + " added, " + term.Count(c.Deleted, "line") + " deleted"
	}
	if c.LeftOut > 0 {
		says += "; left out: " + term.Count(c.LeftOut, "file") + " that only one of the two looks at"
	}
	return says
}

// rollbackPage is what a rollback would do.
type rollbackPage struct {
	*execution
	Move    *report.Move
	Says    string
	Digest  string
	Left    string // what of the cost did not lead there
	Undo    string // the command that takes it back
	Refused string // why it would be refused; empty: it would not be
	Problem string
}

func (e *execution) rollback(ctx context.Context, q url.Values) (string, any, error) {
	page := rollbackPage{execution: e, Undo: advice.Render("`hank rollback --undo`", e.option)}
	p, err := history.PreviewRollback(ctx, history.RollbackOptions{Execution: e.view.Layout.Root, To: q.Get("to")})
	if err != nil {
		page.Problem = advice.Render(err.Error(), e.option)
		return "rollback", page, nil
	}
	m := report.MoveOf(p)
	page.Move, page.Digest, page.Says = &m, Digest(p), report.ShortNames(p.Target.String())
	page.Left = (m.CostLeft - m.ReplayedLeft).Text()
	switch {
	case e.live.Live:
		page.Refused = "a run is in progress; stop it first"
	case p.Refused != nil:
		page.Refused = advice.Render(p.Refused.Error(), e.option)
	}
	return "rollback", page, nil
}
