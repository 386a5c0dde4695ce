package term

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strings"
)

// Table lines up columns.
type Table struct {
	out    io.Writer
	rows   [][]string
	only   bool     // rows has a heading only
	headed bool     // the first row is a heading
	most   int      // columns of a line; 0: any number
	hang   int      // see Hang
	spare  int      // see Spare
	whole  []string // the cells that are paths
}

// NewTable returns a table that is written to out by Flush.
func NewTable(out io.Writer) *Table { return &Table{out: out} }

// Heading adds a row of names for the columns. On a terminal it is dim.
func (t *Table) Heading(names ...string) {
	cells := make([]any, len(names))
	for i, name := range names {
		cells[i] = Painted(name)
		if to, ok := t.out.(*os.File); ok && name != "" {
			cells[i] = Dim(to, name)
		}
	}
	t.Row(cells...)
	t.only, t.headed = true, true
}

// Fit cuts what is longer than a line of the terminal that the table is written to.
func (t *Table) Fit() {
	if to, ok := t.out.(*os.File); ok {
		t.most = Width(to)
	}
}

// Hang has the last n columns of each row below the others, in lines of their own, where
// the table is wider than the terminal that it is written to.
func (t *Table) Hang(n int) {
	t.Fit()
	t.hang = n
}

// Spare leaves the last n columns out where the table is wider than the terminal that it is
// written to.
func (t *Table) Spare(n int) {
	t.Fit()
	t.spare = n
}

// Path is a cell that is not divided at its spaces: it is to be copied.
type Path string

// Row adds a row. Its cells are shown as Fprintf shows its arguments, each on
// one line.
func (t *Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(string(Sprintf("%v", c)))
		if _, is := c.(Path); is {
			t.whole = append(t.whole, texts[i])
		}
	}
	t.rows, t.only = append(t.rows, texts), false
}

// columnGap is how many spaces are between two columns.
const columnGap = 2

// Flush writes the table, each column as wide as its widest cell appears on a
// terminal. No line ends with a space. A heading of no rows is not written.
func (t *Table) Flush() error {
	if t.only {
		t.rows, t.only = nil, false
	}
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Columns(Printable(cell)))
		}
	}
	if t.hang > 0 {
		t.hung(widths)
	}
	if keep := len(widths) - t.spare; t.spare > 0 && t.most > 0 && wide(widths) > t.most && keep > 0 {
		for i, row := range t.rows {
			t.rows[i] = row[:min(keep, len(row))]
		}
	}
	out := bufio.NewWriter(t.out)
	for _, row := range t.rows {
		gap := 0
		if t.most > 0 && t.hang == 0 {
			row = fitted(row, widths, t.most)
		}
		for i, cell := range row {
			if cell != "" {
				out.WriteString(strings.Repeat(" ", gap) + cell)
				gap = 0
			}
			gap += columnGap + widths[i] - Columns(Printable(cell))
		}
		out.WriteByte('\n')
	}
	t.rows = nil
	return out.Flush()
}

// hung puts what hangs into rows of its own, where a row does not fit.
func (t *Table) hung(widths []int) {
	keep := len(widths) - t.hang
	if t.most == 0 || wide(widths) <= t.most || keep < 1 {
		return
	}
	var rows [][]string
	for i, row := range t.rows {
		rows = append(rows, row[:min(keep, len(row))])
		if i == 0 && t.headed {
			continue
		}
		text := ""
		divide := func() {
			for _, line := range wrapped(text, t.most-widths[0]-columnGap) {
				rows = append(rows, []string{"", line})
			}
			text = ""
		}
		for _, cell := range row[min(keep, len(row)):] {
			switch {
			case cell == "":
			case slices.Contains(t.whole, cell):
				divide()
				rows = append(rows, []string{"", cell})
			default:
				text += strings.Repeat(" ", min(len(text), columnGap)) + cell
			}
		}
		divide()
	}
	t.rows = rows
}

// wide is how wide the columns are together.
func wide(widths []int) int {
	total := -columnGap
	for _, w := range widths {
		total += columnGap + w
	}
	return total
}

// Wrap divides a line at spaces into lines of so many columns at most, but for a word that is
// longer. What it is indented by stays, on the lines that are added too.
func Wrap(line string, most int) []string {
	text := strings.TrimLeft(line, " \t")
	indent := line[:len(line)-len(text)]
	if Columns(line) <= most || len(indent) > most/2 {
		return []string{line}
	}
	lines := wrapped(text, most-len(indent))
	for i := range lines {
		lines[i] = indent + lines[i]
	}
	return lines
}

// wrapped divides a text at spaces into lines of so many columns at most, but for a word that
// is longer.
func wrapped(text string, most int) (lines []string) {
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if longer := line + " " + word; line != "" && Columns(Printable(longer)) > most {
			lines, line = append(lines, strings.TrimRight(line, " ")), word
		} else if line != "" {
			line = longer
		} else {
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// fitted is a row of which no more is left than fits into so many columns.
func fitted(row []string, widths []int, most int) []string {
	row = slices.Clone(row)
	at := 0
	for i, cell := range row {
		if used := Columns(Printable(cell)); at+used > most {
			row[i] = Fit(Printable(cell), max(0, most-at))
		}
		at += widths[i] + columnGap
	}
	return row
}

// Clauses divides a text that has more than so many columns after semicolons and before ", or",
// and nowhere else: a command in it stays whole, and can be copied. 0 columns divide nothing.
func Clauses(text string, most int) (lines []string) {
	if most <= 0 || Columns(Printable(text)) <= most {
		return []string{text}
	}
	line := ""
	for clause := range strings.SplitSeq(strings.NewReplacer("; ", ";\n", ", or ", ",\nor ").Replace(text), "\n") {
		if longer := line + " " + clause; line != "" && Columns(Printable(longer)) > most {
			lines, line = append(lines, line), clause
		} else {
			line = strings.TrimPrefix(longer, " ")
		}
	}
	return append(lines, line)
}
