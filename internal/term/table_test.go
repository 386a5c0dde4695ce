package term

import (
	"slices"
	"strings"
	"testing"
)

// A colour takes no column, a wide character takes two, and no line ends with spaces.
func TestATableIsAlignedAsItAppears(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := NewTable(&out)
	table.Heading("", "status", "name", "note")
	table.Row("*", Painted("\x1b[31mfailed\x1b[0m"), "漢字", "a\nb")
	table.Row("", "completed", "b", "")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = "" +
		"   status     name  note\n" +
		"*  \x1b[31mfailed\x1b[0m     漢字  a b\n" +
		"   completed  b\n" +
		"a  b\n" +
		"a  漢字漢字漢字漢字…\n"
	table.most = 20
	table.Row("a", "b", "a text that is longer than a line")
	table.Row("a", "漢字漢字漢字漢字漢字漢字", Painted("\x1b[31mc\x1b[0m"))
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	table.most = 0
	table.Heading("nothing", "follows")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// Where a table is wider than the terminal, what hangs has lines of its own, and is whole.
func TestWhatDoesNotFitHangs(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := NewTable(&out)
	rows := func(most int) {
		table.hang, table.most = 2, most
		table.Heading("", "kind", "where", "what")
		table.Row("keep", "archive", "./a", "it is not as old as 30 days")
		table.Row("keep", "", "", "a-word-that-is-longer-than-the-line and more")
		table.Row("keep", "index")
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	rows(26)
	rows(80)
	const want = "" +
		"      kind\n" +
		"keep  archive\n" +
		"      ./a  it is not as\n" +
		"      old as 30 days\n" +
		"keep\n" +
		"      a-word-that-is-longer-than-the-line\n" +
		"      and more\n" +
		"keep  index\n" +
		"      kind     where  what\n" +
		"keep  archive  ./a    it is not as old as 30 days\n" +
		"keep                  a-word-that-is-longer-than-the-line and more\n" +
		"keep  index\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestSpareColumnsAreLeftOutWhereTheyDoNotFit(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := NewTable(&out)
	for _, most := range []int{0, 22, 21, 9} {
		table.spare, table.most = 1, most
		table.Heading("", "name", "branch")
		table.Row("*", "long name", "a branch")
		table.Row("", "b")
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	const whole = "" +
		"   name       branch\n" +
		"*  long name  a branch\n" +
		"   b\n"
	const want = whole + whole + "" +
		"   name\n" +
		"*  long name\n" +
		"   b\n" +
		"   name\n" +
		"*  long …\n" +
		"   b\n"
	if got := out.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A path is copied: it is not divided.
func TestAPathHangsWhole(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := NewTable(&out)
	table.most, table.hang = 20, 2
	table.Row("done", "the name of it", Path("./a long path/with spaces"))
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "done\n      the name of it\n      ./a long path/with spaces\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLinesAreDividedAtSpaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		most int
		want []string
	}{
		{"", 10, []string{""}},
		{"one two", 7, []string{"one two"}},
		{"one two", 6, []string{"one", "two"}},
		{"  - one two three", 10, []string{"  - one", "  two", "  three"}},
		{"a-word-without-a-space and", 10, []string{"a-word-without-a-space", "and"}},
		{"漢字 漢字 a", 7, []string{"漢字", "漢字 a"}},
		{"            deep one", 14, []string{"            deep one"}},
	} {
		if got := Wrap(c.line, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d columns: %q, want %q", c.line, c.most, got, c.want)
		}
	}
}

func TestLongTextIsDividedAtItsClauses(t *testing.T) {
	t.Parallel()
	const text = "it is in the way: \"a\"; choose: git -C /x restore a, or git -C /x reset; then again"
	for _, c := range []struct {
		most int
		want []string
	}{
		{0, []string{text}},
		{len(text), []string{text}},
		{len(text) - 1, []string{"it is in the way: \"a\"; choose: git -C /x restore a, or git -C /x reset;", "then again"}},
		{50, []string{"it is in the way: \"a\";", "choose: git -C /x restore a, or git -C /x reset;", "then again"}},
		{30, []string{"it is in the way: \"a\";", "choose: git -C /x restore a,", "or git -C /x reset; then again"}},
		{1, []string{"it is in the way: \"a\";", "choose: git -C /x restore a,", "or git -C /x reset;", "then again"}},
	} {
		if got := Clauses(text, c.most); !slices.Equal(got, c.want) {
			t.Errorf("in %d columns: %q, want %q", c.most, got, c.want)
		}
	}
}
