package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"hank/internal/registry"
	"hank/recovery"
	"hank/runtime/harness/transcript"
	"hank/runtime/liveview"
	"hank/runtime/logview"
	"hank/runtime/report"
	"hank/runtime/screen"
	"hank/runtime/web/page"
	"hank/scripts/keep"
)

// recorded is the execution that the pictures of the documents show, in the repository.
const recorded = "scripts/screenshots/testdata/weather"

// stage is where it is recorded: its files name no other place.
const stage = "/tmp/hank-pictures"

// kept is what the pictures need of an execution.
var kept = []string{".hankweave/state.json", ".hankweave/execution-meta.json", ".hankweave/events", ".hankweave/checkpoints", ".hankweave/runs", "agentRoot"}

// record makes the execution again, on a machine without a name of its own.
func (r *rig) record(to string) error {
	r.unshared = true
	if err := r.weather(); err != nil {
		return err
	}
	return keep.Files(filepath.Join(r.dir, "weather", "run"), to, kept...)
}

// terminal is a picture of hank watch in the documents.
type terminal struct {
	name          string
	columns, rows int
	keys          []string
}

var terminals = []terminal{
	{"watch", 112, 25, []string{"k", "k", "k"}},
	{"watch-plan", 80, 24, []string{"k", "k", "k", "k", "enter"}},
}

// draw draws hank watch over the recorded execution, as it was when its last event was written;
// colour: with sequences of colours.
func draw(root string, t terminal, colour bool) ([]string, error) {
	f, err := liveview.Open(context.Background(), root, report.Settings{}, "")
	if err != nil {
		return nil, err
	}
	v := *f.View()
	if v.Status.LastEvent != nil {
		v.At = *v.Status.LastEvent
	}
	s := screen.New()
	s.Colour, s.Now = colour, v.At
	s.Resize(t.columns, t.rows)
	s.Viewed(&v)
	for _, key := range t.keys {
		s.Key(key)
	}
	if n := s.Selected(); n != nil && n.Record != nil {
		l, err := screen.OpenLog(v.Transcript(n.Record), "", transcript.Start{Harness: n.Record.Harness, Model: n.Record.Model}, logview.Style{Columns: t.columns})
		if err != nil {
			return nil, err
		}
		defer l.Close()
		if _, err := l.Refresh(); err != nil {
			return nil, err
		}
		s.SetLog(l)
	}
	rows := s.Draw()
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " ")
	}
	return rows, nil
}

// picture is a picture of a page in the documents.
type picture struct {
	name, path string
	form       form
}

var pictures = []picture{
	{"web-run", "", form{width: 1000, height: 1040}},
	{"web-gate-phone", "/gate", form{width: 390, height: 844, dark: true}},
	{"web-checkpoints", "/checkpoints", form{width: 1000, height: 640}},
	{"web-money", "/money", form{width: 1000, height: 760}},
}

// register makes an execution known to hank web, in the directory HANK_STATE_DIR.
func register(root string) error {
	v, err := recovery.Read(root)
	if err != nil {
		return err
	}
	return registry.Add(registry.Entry{Root: root, Lineage: v.State.Lineage, Hank: "weather", Created: time.Now(), LastUsed: time.Now()})
}

// digest is that of what a picture of a page was made from: the text of the page, its style and
// its script. root must be registered.
func digest(root string, p picture) (string, error) {
	pages := page.New(report.Settings{}, func(text string) string { return text })
	list, err := pages.Fragment(context.Background(), page.Place{Path: "/"})
	if err != nil {
		return "", err
	}
	id := regexp.MustCompile(`href="/x/([0-9a-f]+)"`).FindSubmatch(list)
	if id == nil {
		return "", fmt.Errorf("the list of executions has none:\n%s", list)
	}
	text, err := pages.Fragment(context.Background(), page.Place{Path: "/x/" + string(id[1]) + p.path, Query: url.Values{}, Acts: true})
	if err != nil {
		return "", err
	}
	kept := steady(string(text), root, string(id[1]))
	if strings.Contains(kept, " ago") {
		return "", fmt.Errorf("the page of %s has an age in it, which is another one tomorrow:\n%s", p.name, kept)
	}
	sum := sha256.New()
	sum.Write([]byte(kept))
	for _, name := range []string{"page.css", "page.js", "shell.html"} {
		asset, _, _ := page.Asset(name)
		sum.Write(asset)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:16]), nil
}

// What differs from one look to the next.
var (
	asOf  = regexp.MustCompile(`(as of event \d+, at <time>)[^<]*`)
	ages  = regexp.MustCompile(`(, begun (?:<[^>]*>|[^(<])*)\([^)]*\)|(<dt>last event</dt><dd>)[^<]*`)
	moved = regexp.MustCompile(`<div><dt>note</dt><dd>[^<]*</dd></div>`) // that it is a copy
)

// steady is the text of a page without what differs from one look to the next: where the
// execution is, and when it was looked at.
func steady(text, root, id string) string {
	text = strings.NewReplacer(root, "EXECUTION", "/x/"+id, "/x/ID").Replace(text)
	text = asOf.ReplaceAllString(strings.ReplaceAll(text, `data-x="`+id, `data-x="ID`), "${1}T")
	return moved.ReplaceAllString(ages.ReplaceAllString(text, "$1$2"), "")
}

// committed takes the pictures of the documents, and writes down what they were made from.
func (r *rig) committed(shoot *camera, out string) error {
	root := filepath.Join(r.dir, "weather")
	if err := os.CopyFS(root, os.DirFS(recorded)); err != nil {
		return err
	}
	if err := writeTerminals(root, out); err != nil {
		return err
	}
	if err := register(root); err != nil {
		return err
	}
	s, stop, err := r.web(shoot)
	if err != nil {
		return err
	}
	defer stop()
	at, err := s.place("Weather service")
	if err != nil {
		return err
	}
	// That it is a copy is so of this one alone.
	s.hides = `[...document.querySelectorAll('.facts dt')].filter(d => d.textContent === 'note').forEach(d => d.parentElement.remove()), ''`
	var made strings.Builder
	for _, p := range pictures {
		if err := s.take(at+p.path, p.form, filepath.Join(out, p.name+".png"), false); err != nil {
			return err
		}
		of, err := digest(root, p)
		if err != nil {
			return err
		}
		fmt.Fprintf(&made, "%s.png %s\n", p.name, of)
	}
	return os.WriteFile(filepath.Join(out, "pages.txt"), []byte(made.String()), 0o666)
}

// writeTerminals writes the pictures of hank watch.
func writeTerminals(root, out string) error {
	for _, t := range terminals {
		rows, err := draw(root, t, true)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, t.name+".svg"), []byte(svg(rows, t.columns, "hank watch")), 0o666); err != nil {
			return err
		}
	}
	return nil
}
