//go:build linux

package watch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"hank/internal/short"
)

// xterm is where scripts/npm-tool installs the terminal of xterm.js, and xtermScript what drives it.
const (
	xterm       = "../../../.agents/xterm"
	xtermScript = "../../../fixtures/xterm/screens.cjs"
)

// xtermScreen is a screen as fixtures/xterm/screens.cjs prints it.
type xtermScreen struct {
	Rows  []string `json:"rows"`
	Looks []string `json:"looks"`
}

// TestFramesInXterm: the bytes that the program writes show in the terminal of xterm.js what they
// show in the emulator of the other tests, in the same looks.
func TestFramesInXterm(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	if *update {
		t.Skip("the frames are being written")
	}
	home, err := filepath.Abs(xterm)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(xtermScript); err != nil { // and a passed test counts until it is changed
		t.Fatal(err)
	}
	_, missing := os.Stat(filepath.Join(home, "installed-lock.json"))
	if _, err := exec.LookPath("node"); errors.Is(missing, fs.ErrNotExist) || err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the terminal of xterm.js is missing, or node is")
		}
		t.Skip("the terminal of xterm.js is missing, or node is; to install it: scripts/npm-tool xterm")
	}
	for _, size := range sizes {
		name := fmt.Sprintf("%dx%d", size.columns, size.rows)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := recordedWorld(t)
			w.dir = w.root
			s := w.watch(size.columns, size.rows)
			var places []string
			var want []xtermScreen
			for i, frame := range framesOf(t, name) {
				s.keys(looks[i].keys)
				place, cells := s.reaches(looks[i].name, frame)
				places, want = append(places, fmt.Sprint(place)), append(want, xtermScreen{strings.Split(frame, "\n"), cells})
			}
			s.keys("n")
			s.leave()

			node := exec.Command("node", xtermScript, home, fmt.Sprint(size.columns), fmt.Sprint(size.rows), strings.Join(places, ","))
			var said bytes.Buffer
			node.Stdin, node.Stderr = strings.NewReader(s.printed()), &said
			out, err := node.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, said.String())
			}
			var got []xtermScreen
			if err := json.Unmarshal(out, &got); err != nil || len(got) != len(want) {
				t.Fatalf("%d screens, want %d: %v", len(got), len(want), err)
			}
			for i := range want {
				if got, want := frame(strings.Join(got[i].Rows, "\n")), strings.Join(want[i].Rows, "\n"); got != want {
					t.Errorf("%s: in xterm.js\n--- got\n%s--- want\n%s", looks[i].name, got, want)
				}
				for at, look := range want[i].Looks {
					if look != "" && got[i].Looks[at] != look {
						t.Errorf("%s: cell %d,%d looks %q in xterm.js, want %q", looks[i].name, at%size.columns, at/size.columns, got[i].Looks[at], look)
						break
					}
				}
			}
		})
	}
}

// reaches waits until the terminal shows a frame, and returns after how many bytes that was, and
// how each cell looks then; empty for one of which nothing is seen.
func (s *screen) reaches(what, want string) (bytes int, cells []string) {
	s.t.Helper()
	for {
		shows(s.t, what, want, s.text)
		if bytes, cells = s.cells(want); bytes > 0 {
			return bytes, cells
		}
		time.Sleep(time.Millisecond) // the next frame has come between the two
	}
}

func (s *screen) cells(want string) (bytes int, cells []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if frame(s.term.String()) != want {
		return 0, nil
	}
	for y := range s.term.Height() {
		for x := range s.term.Width() {
			look := ""
			if c := s.term.CellAt(x, y); c != nil && strings.TrimSpace(c.Content) != "" {
				look = lookOf(c.Style.Fg, c.Style.Bg, c.Style.Underline != 0, c.Style.Attrs)
			}
			cells = append(cells, look)
		}
	}
	return len(s.all), cells
}

// attributes are the bits of an emulator's cell, with the letters that fixtures/xterm/screens.cjs
// gives them; underlining is no bit.
var attributes = func() (list []struct {
	bit    uint8
	letter string
}) {
	for _, a := range []struct{ code, letter string }{{"1", "b"}, {"2", "d"}, {"3", "i"}, {"7", "r"}} {
		one := vt.NewEmulator(1, 1)
		_, _ = one.WriteString("\x1b[" + a.code + "mx")
		list = append(list, struct {
			bit    uint8
			letter string
		}{one.CellAt(0, 0).Style.Attrs, a.letter})
	}
	return list
}()

// lookOf is a look as fixtures/xterm/screens.cjs writes it: colours by their numbers.
func lookOf(fg, bg color.Color, underlined bool, attrs uint8) string {
	letters := ""
	for _, a := range attributes {
		if attrs&a.bit != 0 {
			letters += a.letter
		}
	}
	if underlined {
		letters += "u"
	}
	number := func(c color.Color) string {
		if c == nil {
			return "-"
		}
		return fmt.Sprint(c)
	}
	return number(fg) + " " + number(bg) + " " + letters
}
