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
	out  io.Writer
	rows [][]string
	only bool // rows has a heading only
	most int  // columns of a line; 0: any number
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
	t.only = true
}

// Fit cuts what is longer than a line of the terminal that the table is written to.
func (t *Table) Fit() {
	if to, ok := t.out.(*os.File); ok {
		t.most = Width(to)
	}
}

// Row adds a row. Its cells are shown as Fprintf shows its arguments, each on
// one line.
func (t *Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(string(Sprintf("%v", c)))
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
	out := bufio.NewWriter(t.out)
	for _, row := range t.rows {
		gap := 0
		if t.most > 0 {
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
