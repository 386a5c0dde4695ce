package history

import (
	"slices"
	"strings"

	"hank/state"
)

// GraphLine is a line of a drawing of checkpoints: what is left of it, and the
// checkpoint, if it is not a line between two.
type GraphLine struct {
	Draw string
	At   *Listed
}

// Graph draws how checkpoints follow from each other, as git log --graph does:
// list is newest first, each before its parents. A column of the drawing waits
// for the parent of what was last drawn in it. What a list that ends early has
// not shown leaves its column open.
func Graph(list []Listed) []GraphLine {
	var lines []GraphLine
	var waiting []state.SHA // by column: the checkpoint that comes next in it
	for i := range list {
		at := &list[i]
		column := slices.Index(waiting, at.SHA)
		if column < 0 { // nothing listed follows from it
			column, waiting = len(waiting), append(waiting, at.SHA)
		}
		// Other columns that wait for it join here, from the right.
		for {
			other := slices.Index(waiting[column+1:], at.SHA)
			if other < 0 {
				break
			}
			other += column + 1
			lines = append(lines, GraphLine{Draw: joining(len(waiting), column, other)})
			waiting = slices.Delete(waiting, other, other+1)
		}
		lines = append(lines, GraphLine{Draw: marked(len(waiting), column, at.Current), At: at})
		if len(at.Parents) == 0 {
			waiting = slices.Delete(waiting, column, column+1)
		} else {
			waiting[column] = at.Parents[0]
		}
	}
	return lines
}

// marked draws columns with a checkpoint in one of them.
func marked(n, column int, current bool) string {
	marks := slices.Repeat([]string{"|"}, n)
	if marks[column] = "o"; current {
		marks[column] = "*"
	}
	return strings.Join(marks, " ")
}

// joining draws columns of which one joins another one left of it; those right
// of it move up.
func joining(n, into, from int) string {
	var b strings.Builder
	for i := range n {
		switch {
		case i == from:
			b.WriteString("/")
		case i > from:
			b.WriteString(" /")
		case i > into && i < from:
			b.WriteString("|-")
		case i == into:
			b.WriteString("|-")
		default:
			b.WriteString("| ")
		}
	}
	return strings.TrimRight(b.String(), " ")
}
