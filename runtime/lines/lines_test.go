package lines

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// opened is a file with a text.
func opened(t *testing.T, text, dir string) (*File, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(name, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, name
}

func refresh(t *testing.T, f *File, most int64) {
	t.Helper()
	for more := true; more; {
		var err error
		if _, more, err = f.Refresh(most); err != nil {
			t.Fatal(err)
		}
	}
}

func window(t *testing.T, f *File, line, n, most int) (out []string) {
	t.Helper()
	if err := f.Window(line, n, most, func(at int, text []byte, size int64) error {
		if at != line+len(out) {
			t.Errorf("line %d came as line %d", line+len(out), at)
		}
		if int64(len(text)) < size {
			out = append(out, fmt.Sprintf("%s… (%d)", text, size))
		} else {
			out = append(out, string(text))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAWindowIsThatOfTheWholeText: any window of any text, however it grows and in whatever
// portions it is indexed, has the lines that the text has there.
func TestAWindowIsThatOfTheWholeText(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		var text strings.Builder
		for range r.IntN(5 * stride) {
			text.WriteString(strings.Repeat("x", r.IntN(30)*r.IntN(2)) + fmt.Sprint(r.IntN(1000)) + "\n")
		}
		if r.IntN(2) == 0 {
			text.WriteString("the end is being written")
		}
		whole := text.String()
		cut := r.IntN(len(whole) + 1)
		f, name := opened(t, whole[:cut], "")
		refresh(t, f, int64(1+r.IntN(500)))
		out, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.WriteString(whole[cut:]); err != nil {
			t.Fatal(err)
		}
		_ = out.Close()
		refresh(t, f, int64(r.IntN(2)*700))
		want := strings.Split(whole, "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		if f.Lines() != strings.Count(whole, "\n") {
			t.Fatalf("%d lines, want %d", f.Lines(), strings.Count(whole, "\n"))
		}
		for range 30 {
			from, n := r.IntN(len(want)+3), 1+r.IntN(2*stride)
			got := window(t, f, from, n, 1<<20)
			if part := want[min(from, len(want)):min(from+n, len(want))]; strings.Join(got, "\n") != strings.Join(part, "\n") || len(got) != len(part) {
				t.Fatalf("from %d, %d lines: %d, want %d", from, n, len(got), len(part))
			}
		}
	}
}

// TestALongLineIsCut: no more of a line than is wanted is held, and a line that is longer than
// what is indexed at once is indexed all the same.
func TestALongLineIsCut(t *testing.T) {
	t.Parallel()
	f, _ := opened(t, "a\n"+strings.Repeat("é", 200_000)+"\nb\n", "")
	refresh(t, f, 1000)
	if got := window(t, f, 0, 10, 4); strings.Join(got, "|") != "a|éé… (400000)|b" {
		t.Errorf("%q", got)
	}
}

// TestAFileThatHasBecomeShorterIsReadAgain: what was cut off is not in the index any more.
func TestAFileThatHasBecomeShorterIsReadAgain(t *testing.T) {
	t.Parallel()
	f, name := opened(t, "one\ntwo\nthree\n", "")
	refresh(t, f, 0)
	if err := os.Truncate(name, 4); err != nil {
		t.Fatal(err)
	}
	refresh(t, f, 0)
	if got := window(t, f, 0, 10, 100); f.Lines() != 1 || strings.Join(got, "|") != "one" {
		t.Errorf("%d lines: %q", f.Lines(), got)
	}
}

// TestASavedIndexIsUsedWhereItFits: an index is read back for its file as it has grown since, and
// for no other: another text, a shorter one, or one whose index is damaged.
func TestASavedIndexIsUsedWhereItFits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := strings.Repeat("x", 99) + "\n"
	text := strings.Repeat(line, 2*worthSaving/len(line))
	f, name := opened(t, text, dir)
	refresh(t, f, 0)
	f.save()
	path := saved(dir, name)
	index, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if most := 8*(f.Lines()/stride+1) + 1000; len(index) > most {
		t.Errorf("the index of %d lines has %d bytes", f.Lines(), len(index))
	}
	reopened := func() *File {
		g, err := Open(name, dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = g.file.Close() })
		return g
	}
	if g := reopened(); g.Lines() != f.Lines() {
		t.Errorf("of %d lines %d were read back", f.Lines(), g.Lines())
	}
	more, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := more.WriteString("last\n"); err != nil {
		t.Fatal(err)
	}
	_ = more.Close()
	g := reopened()
	refresh(t, g, 0)
	if got := window(t, g, f.Lines(), 2, 100); g.Lines() != f.Lines()+1 || strings.Join(got, "|") != "last" {
		t.Errorf("after it has grown: %d lines, the last ones %q", g.Lines(), got)
	}
	for i := 0; i < len(index); i += 7 {
		damaged := bytes.Clone(index)
		damaged[i] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if g := reopened(); g.Lines() != 0 {
			t.Fatalf("an index with byte %d changed was used", i)
		}
		if i > 300 {
			i += 997
		}
	}
	if err := os.WriteFile(path, index, 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := os.OpenFile(name, os.O_WRONLY, 0) // the same file, with another text
	if err != nil {
		t.Fatal(err)
	}
	if _, err := at.WriteAt([]byte("y"), int64(len(text)-50)); err != nil {
		t.Fatal(err)
	}
	_ = at.Close()
	if g := reopened(); g.Lines() != 0 {
		t.Error("the index of another text was used")
	}
}

// TestNoDirectoryIsMadeForAnIndex: whoever has removed hank's files does not get some back.
func TestNoDirectoryIsMadeForAnIndex(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gone")
	f, _ := opened(t, strings.Repeat("x\n", worthSaving), dir)
	refresh(t, f, 0)
	f.save()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("a directory was made")
	}
}
