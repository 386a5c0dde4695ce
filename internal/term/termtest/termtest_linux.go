// Package termtest opens pseudo-terminals for tests, types on them and waits for what they
// show.
package termtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Open makes a terminal of so many columns. What is written to it is read from screen,
// and what is written to screen was typed.
func Open(t testing.TB, columns uint16) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal("there are no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		t.Fatal("no pseudo-terminal can be opened here: ", err)
	}
	return screen, terminal
}

// Person sits before a screen.
type Person struct {
	t      testing.TB
	screen *os.File
	pieces chan string
	Seen   string // all that was shown so far
	looked int    // how much of it Sees has found already
}

// Watch has the user look at a screen from now on.
func Watch(t testing.TB, screen *os.File) *Person {
	p := &Person{t: t, screen: screen, pieces: make(chan string, 1000)}
	go func() {
		defer close(p.pieces)
		for buf := make([]byte, 4096); ; {
			n, err := screen.Read(buf)
			if p.pieces <- string(buf[:n]); err != nil {
				return
			}
		}
	}()
	return p
}

// Sees waits for a text, after what was found last.
func (p *Person) Sees(text string) {
	p.t.Helper()
	for late := time.After(time.Minute); ; {
		if i := strings.Index(p.Seen[p.looked:], text); i >= 0 {
			p.looked += i + len(text)
			return
		}
		select {
		case piece, open := <-p.pieces:
			if p.Seen += piece; !open {
				p.t.Fatalf("the screen is closed and has no %q: %q", text, p.Seen)
			}
		case <-late:
			p.t.Fatalf("the screen shows no %q: %q", text, p.Seen)
		}
	}
}

// Types sends keys.
func (p *Person) Types(keys string) {
	p.t.Helper()
	if _, err := p.screen.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// SeesEnd waits until nobody has the terminal open any more.
func (p *Person) SeesEnd() {
	for piece := range p.pieces {
		p.Seen += piece
	}
}
