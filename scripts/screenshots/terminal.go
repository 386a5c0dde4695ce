package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/chromedp/chromedp"
	"github.com/creack/pty"

	"hank/internal/browser"
)

// session is a look at hank watch: its size, what is typed, and what is waited for before the
// picture is taken.
type session struct {
	name          string
	columns, rows int
	execution     string // its hank; empty: the list
	keys          []string
	wait          string
}

// sessions are the looks at hank watch at the four sizes of its tests, and at each of its pages.
func sessions() (list []session) {
	for _, size := range []struct{ columns, rows int }{{40, 12}, {80, 24}, {100, 30}, {200, 60}} {
		name := fmt.Sprintf("watch-%dx%d-", size.columns, size.rows)
		list = append(list,
			session{name + "list", size.columns, size.rows, "", nil, "Weather"},
			session{name + "gate", size.columns, size.rows, "weather", nil, "as of event"},
			session{name + "live", size.columns, size.rows, "mirror", nil, "as of event"},
			session{name + "log", size.columns, size.rows, "weather", []string{"k", "k", "k", "\r"}, "as of event"})
	}
	for _, page := range []struct{ name, key, wait string }{{"diff", "d", "esc: back"}, {"checkpoints", "c", "esc: back"}, {"events", "o", "esc: back"}, {"money", "m", "esc: back"}, {"help", "?", "esc: back"}, {"approve", "a", "y: yes"}, {"rollback", "r", "y: yes"}} {
		list = append(list, session{"watch-100x30-" + page.name, 100, 30, "weather", []string{"k", "k", page.key}, page.wait})
	}
	return append(list, session{"watch-100x30-limit", 100, 30, "guide", nil, "as of event"}, session{"watch-100x30-failed", 100, 30, "tests", nil, "as of event"})
}

// look is what a terminal shows of a session, as rows with sequences of colours.
func (r *rig) look(s session) ([]string, error) {
	args := []string{"watch"}
	if s.execution != "" {
		args = append(args, filepath.Join(r.dir, s.execution, "run"))
	}
	cmd := r.command("", args...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(s.columns), Rows: uint16(s.rows)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = tty.Close() }()
	screen := vt.NewSafeEmulator(s.columns, s.rows)
	go func() { // what a terminal answers when it is asked
		part := make([]byte, 1024)
		for {
			n, err := screen.Read(part)
			if err != nil {
				return
			}
			if _, err := tty.Write(part[:n]); err != nil {
				return
			}
		}
	}()
	go func() {
		part := make([]byte, 64<<10)
		for {
			n, err := tty.Read(part)
			if err != nil {
				return
			}
			_, _ = screen.Write(part[:n])
		}
	}()
	shows := func(text string) error {
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if strings.Contains(screen.String(), text) {
				time.Sleep(700 * time.Millisecond) // what is read meanwhile comes
				return nil
			}
		}
		return errors.New(s.name + ": the terminal shows no " + text + "\n" + screen.String())
	}
	first := s.wait
	if len(s.keys) > 0 {
		first = "as of event"
	}
	if err := shows(first); err != nil {
		return nil, err
	}
	for _, key := range s.keys {
		if _, err := tty.WriteString(key); err != nil {
			return nil, err
		}
		time.Sleep(150 * time.Millisecond)
	}
	if err := shows(s.wait); err != nil {
		return nil, err
	}
	return strings.Split(strings.ReplaceAll(screen.Render(), "\r", ""), "\n"), nil
}

// terminals takes pictures of hank watch.
func (r *rig) terminals(shoot *camera, out string) error {
	for _, s := range sessions() {
		rows, err := r.look(s)
		if err != nil {
			return err
		}
		drawing := filepath.Join(r.dir, s.name+".svg")
		if err := os.WriteFile(drawing, []byte(svg(rows, s.columns, s.name)), 0o666); err != nil {
			return err
		}
		if err := browser.Look(shoot.tab, int64(float64(s.columns)*cellWidth+2*margin)+16, int64(float64(s.rows)*cellHeight+2*margin)+16, false); err != nil {
			return err
		}
		if err := chromedp.Do(shoot.tab, chromedp.Navigate("file://"+drawing)); err != nil {
			return err
		}
		if err := shoot.save(filepath.Join(out, s.name+".png"), false); err != nil {
			return err
		}
	}
	return nil
}
