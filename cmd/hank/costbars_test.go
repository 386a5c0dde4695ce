package main

import (
	"fmt"
	"strings"
	"testing"

	"hank/internal/term"
	"hank/runtime/report/cost"
	"hank/state"
)

// However narrow a terminal is, the table of costs fits, and says what each group cost.
func TestBarsFitTheTerminal(t *testing.T) {
	t.Parallel()
	sums := []cost.Sum{{Bill: state.Bill{Cost: 4 * state.Dollar}}, {Bill: state.Bill{Cost: state.Dollar}}, {}}
	rows := [][]string{{"codon", "attempts", "cost", "tokens: in", "out", "cache-read"}}
	for i, s := range sums {
		rows = append(rows, []string{fmt.Sprintf("a-codon-with-a-name-that-is-long#%d", i), "12", s.Bill.Short(), "1,234,567", "12,345", "99,999,999"})
	}
	rows = append(rows, []string{"total", "36", "$5.00", "1", "1", "1"})
	for _, c := range []struct {
		width         int
		tokens, whole bool
	}{{200, true, true}, {80, false, true}, {60, false, true}, {40, false, false}} {
		shown := withBars(append([][]string{}, rows...), sums, c.width)
		columns := make([]int, len(shown[0]))
		for _, row := range shown {
			for i, cell := range row {
				columns[i] = max(columns[i], term.Columns(cell)+columnGap)
			}
		}
		total := -columnGap
		for _, n := range columns {
			total += n
		}
		if total > c.width {
			t.Errorf("%d columns on a terminal of %d: %q", total, c.width, shown)
		}
		first := strings.Join(shown[1], " ")
		if !strings.Contains(first, "█") || !strings.Contains(first, "$4.00") || strings.Contains(first, "1,234,567") != c.tokens || strings.Contains(first, rows[1][0]) != c.whole {
			t.Errorf("on a terminal of %d: %q", c.width, first)
		}
		if full, quarter := strings.Count(shown[1][3], "█"), strings.Count(shown[2][3], "█"); full != columns[3]-columnGap || quarter > full/4 || quarter < full/4-1 {
			t.Errorf("on a terminal of %d: bars %q and %q", c.width, shown[1][3], shown[2][3])
		}
		if last := shown[len(shown)-1]; len(last) > 3 && last[3] != "" || shown[3][3] != "" {
			t.Errorf("on a terminal of %d: the total or nothing has a bar: %q", c.width, shown)
		}
	}
}
