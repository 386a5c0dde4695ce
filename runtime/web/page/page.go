package page

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"hank/internal/registry"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/liveview"
	"hank/runtime/report"
)

// Pages makes pages.
type Pages struct {
	in      report.Settings
	printer *printer
	now     func() time.Time
	open    open
}

// New returns the pages for who has these settings. mask masks secrets in a text.
func New(in report.Settings, mask func(string) string) *Pages {
	return &Pages{in: in, printer: newPrinter(mask), now: time.Now, open: open{list: liveview.NewList(in)}}
}

// Place is what a page shows.
type Place struct {
	Path  string
	Query url.Values
	// Acts: who looks may act, and is offered to.
	Acts bool
}

// ErrNoPlace says that there is no such page.
var ErrNoPlace = errors.New("there is no such page")

// nameOf names an execution in addresses, by its directory.
func nameOf(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:6])
}

// Find returns the directory of the execution that an address names, of those that this
// machine knows.
func Find(id string) (string, error) {
	entries, err := registry.List()
	if err != nil {
		return "", fmt.Errorf("cannot read the list of executions: %w", err)
	}
	for _, e := range entries {
		if nameOf(e.Root) == id && layout.Exists(e.Root) {
			return e.Root, nil
		}
	}
	return "", fmt.Errorf("%w: the execution %q is not known to this machine", ErrNoPlace, id)
}

// Split returns the execution that a path is about, and the rest of the path; empty: it is
// about none.
func Split(path string) (id, rest string) {
	inner, found := strings.CutPrefix(path, "/x/")
	if !found {
		return "", path
	}
	id, rest, _ = strings.Cut(inner, "/")
	return id, rest
}

// execution is an execution as its pages show it: the head of each page.
type execution struct {
	p      *Pages
	live   *liveview.View
	root   string
	view   *recovery.View // the same
	option string         // with which commands find it

	ID     string
	Tab    string
	Title  string
	Status *report.Status
	At     time.Time
	Acts   bool
	Static bool // in a file
}

// read reads an execution.
func (p *Pages) read(ctx context.Context, root string) (*execution, error) {
	v, err := p.open.look(ctx, root, p.in)
	if err != nil {
		return nil, err
	}
	s := *v.Status
	if v.Live { // what it costs changes with events that change nothing else
		s.Bill = v.State.Bill()
	}
	e := &execution{p: p, root: root, live: v, view: v.Recovery(), option: v.Option, ID: nameOf(root), Status: &s, At: p.now()}
	if v.Live { // the clock goes on in all parts of a page alike
		s.Worked = v.Worked(e.At).Seconds()
	}
	return e, nil
}

// Look brings an execution up to date: up to which event it is known, when it was last heard of,
// and what its head shows beside the event, which the clock may change, too.
func (p *Pages) Look(ctx context.Context, root string) (seq uint64, heard time.Time, shown string, err error) {
	v, err := p.open.look(ctx, root, p.in)
	if err != nil {
		return 0, time.Time{}, "", err
	}
	return v.Seq, v.Heard, shownOf(v), nil
}

// shownOf is whether an execution is in progress, and the verdict on it.
func shownOf(v *liveview.View) string { return fmt.Sprintf("%t %s", v.Live, v.Status.Verdict) }

// Shown is what the page tells the stream that it shows.
func (e *execution) Shown() string { return shownOf(e.live) }

// Seq is the last event that the page knows.
func (e *execution) Seq() uint64 { return e.live.Seq }

// Lineage names the execution.
func (e *execution) Lineage() string { return e.view.State.Lineage }

// Standing is what an act is about.
func (e *execution) Standing() string { return Standing(e.view) }

// Standing names where an execution is, for who acts on it: lineage, run, attempt, gate and
// checkpoint. It stays the same while an agent works, and changes with each step.
func Standing(v *recovery.View) string {
	s := v.State
	run, attempt := "", ""
	if r := s.Newest(); r != nil {
		run = fmt.Sprintf("%s:%s", r.RunID, r.Status)
		if c := r.Live(); c != nil && v.Live {
			attempt = fmt.Sprintf("%s:%d", c.CodonID, c.Attempt)
		} else {
			attempt = fmt.Sprintf("after %d", r.Len())
		}
	}
	answered := 0
	for _, g := range s.Gates {
		if g.Answer != nil {
			answered++
		}
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{s.Lineage, run, attempt, string(s.CurrentPosition().CheckpointSHA),
		fmt.Sprint(len(s.Gates), answered, v.Live, s.Hold != nil)}, "\n")))
	return hex.EncodeToString(sum[:8])
}

// to is the address of a page of the execution; in a file, of a place in it.
func (e *execution) to(page string, query ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			q.Set(query[i], query[i+1])
		}
	}
	if e.Static {
		return "#" + strings.Trim(page+"-"+q.Get("id"), "-")
	}
	address := "/x/" + e.ID
	if page != "" {
		address += "/" + page
	}
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return address
}

// To is to for templates.
func (e *execution) To(page string, query ...string) string { return e.to(page, query...) }
