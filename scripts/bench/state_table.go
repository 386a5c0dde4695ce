package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// judge compares with what is wanted of the longest history.
func (r *stateReport) judge() {
	first, last := r.Sizes[0], r.Sizes[len(r.Sizes)-1]
	most := func(what string, is, most float64, unit string) {
		r.Wants = append(r.Wants, want{What: what, Is: is, Most: most, Unit: unit, Verdict: r.verdict(is <= most)})
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	for _, s := range r.Sizes {
		most(fmt.Sprintf("acknowledged transition, p50 ÷ floor, %s codons", humanize.Comma(int64(s.Codons))), s.Transitions.Ratio, 2, "×")
	}
	most("the same, p50 with the longest history ÷ the shortest", float64(last.Transitions.Hank.P50)/float64(first.Transitions.Hank.P50), 1.5, "×")
	most("the same, each in floors of its own", last.Transitions.Ratio/first.Transitions.Ratio, 1.5, "×")
	most("opening the longest history", ms(last.Open.Median), 1000, "ms")
	most("hank status there, the whole process", ms(last.Status.Median), 150, "ms")
	for _, name := range []string{"run", "codon", "model", "day"} {
		most("cost totals by "+name+", after open", ms(r.Costs.Totals[name].Median), 10, "ms")
	}
	least := func(what string, is, least float64, unit string) {
		r.Wants = append(r.Wants, want{What: what, Is: is, Least: least, Unit: unit, Verdict: r.verdict(is >= least)})
	}
	least("cost index made anew, of cost events", r.Costs.Rebuild, 300_000, "/s")
	least("the same from a journal, of all its events", r.Costs.Journal.Rate, 300_000, "/s")
	for _, s := range r.Series {
		most("last tenth ÷ first tenth of "+fmt.Sprint(s.Codons)+" codons: "+s.Name, s.Ratio, 1.5, "×")
	}
}

func (r *stateReport) verdict(good bool) string {
	switch {
	case r.Quick:
		return "too small to tell"
	case good:
		return "PASS"
	}
	return "MISS"
}

// text is the report for people. Its tables are Markdown.
func (r *stateReport) text() string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s, %d cores, %s; %s, kernel %s, %s; git %s, %s; hank %s\n", m.CPU, m.Cores, humanize.IBytes(m.Memory), m.System, m.Kernel, m.FileSystem, m.Git, m.Go, m.Commit)
	fmt.Fprintf(&b, "load before %.2f %.2f %.2f\n", m.Load[0], m.Load[1], m.Load[2])
	if r.Quick {
		b.WriteString("quick form: small sizes, whose figures say nothing about speed\n")
	}
	size := func(n int64) string { return humanize.Bytes(uint64(n)) }
	rows := [][]string{{"codons of history", "transition p50", "p99", "floor p50", "p99", "ratio of p50", "open (least–most)", "peak", "hank status (least–most)", "peak", "state.json", "journal"}}
	for _, s := range r.Sizes {
		t := s.Transitions
		rows = append(rows, []string{humanize.Comma(int64(s.Codons)), micro(t.Hank.P50), micro(t.Hank.P99), micro(t.Floor.P50), micro(t.Floor.P99), ratioText(t.Ratio),
			s.Open.text(0), size(s.OpenPeak), s.Status.text(0), size(s.StatusPeak), size(s.StateBytes), size(s.Journal)})
	}
	table(&b, rows)
	fmt.Fprintf(&b, "\nadopting another hank with %s codons, after opening: %s\n", humanize.Comma(int64(r.Adopt.Codons)), r.Adopt.Took.text(0))
	c := r.Costs
	fmt.Fprintf(&b, "\ncosts: %s events of %s codons made anew at %s/s; opened in %s; index %s\n", humanize.Comma(int64(c.Events)), humanize.Comma(int64(c.Codons)), humanize.Comma(int64(c.Rebuild)), c.Open.text(0), size(c.Bytes))
	fmt.Fprintf(&b, "from a journal of %s events, %s of them with a cost: %s, %s events/s\n", humanize.Comma(int64(c.Journal.Events)), humanize.Comma(int64(c.Journal.Costs)), short(c.Journal.Took), humanize.Comma(int64(c.Journal.Rate)))
	rows = [][]string{{"totals by", "after open (least–most)"}}
	for _, name := range slices.Sorted(maps.Keys(c.Totals)) {
		rows = append(rows, []string{name, c.Totals[name].text(0)})
	}
	table(&b, rows)
	rows = [][]string{{"time for a codon", "codons", "median of each tenth", "last ÷ first"}}
	for _, s := range r.Series {
		rows = append(rows, []string{s.Name, humanize.Comma(int64(s.Codons)), strings.Join(s.Tenths, " "), ratioText(s.Ratio)})
	}
	table(&b, rows)
	rows = [][]string{{"wanted", "is", "", ""}}
	for _, w := range r.Wants {
		bound := fmt.Sprintf("≤ %g %s", w.Most, w.Unit)
		if w.Least > 0 {
			bound = fmt.Sprintf("≥ %s %s", humanize.Comma(int64(w.Least)), w.Unit)
		}
		is := fmt.Sprintf("%.2f %s", w.Is, w.Unit)
		if w.Is >= 1000 {
			is = fmt.Sprintf("%s %s", humanize.Comma(int64(w.Is)), w.Unit)
		}
		rows = append(rows, []string{w.What, is, bound, w.Verdict})
	}
	table(&b, rows)
	return b.String()
}

// micro prints what takes less than some milliseconds.
func micro(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Nanoseconds())/1e6) }

// figureOf is the figure of a list.
func figureOf(list []time.Duration) figure {
	return figure{Median: median(list), Min: slices.Min(list), Max: slices.Max(list), Samples: list}
}
