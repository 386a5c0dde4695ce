package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"hank/scripts/bench/deflate"
)

// text is the report for people. Its tables are Markdown.
func (r *results) text() string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s, %d cores, %s; %s, kernel %s, %s; git %s, %s; hank %s\n", m.CPU, m.Cores, humanize.IBytes(m.Memory), m.System, m.Kernel, m.FileSystem, m.Git, m.Go, m.Commit)
	fmt.Fprintf(&b, "load before %.2f %.2f %.2f; seed %d, %d runs of each side in turn, medians (least–most)\n", m.Load[0], m.Load[1], m.Load[2], r.Seed, r.Runs)
	if r.Quick {
		b.WriteString("quick form: small sizes, whose figures say nothing about speed\n")
	}
	if len(r.Cases) > 0 {
		r.caseTable(&b)
	}
	if len(r.Commands) > 0 {
		r.commandTable(&b)
	}
	for _, s := range r.Growth {
		rows := [][]string{{s.Name, "hank", "git", "ratio"}}
		for _, p := range s.Points {
			rows = append(rows, []string{humanize.Comma(int64(p.X)), short(p.Hank), short(p.Git), ratioText(float64(p.Hank) / float64(p.Git))})
		}
		table(&b, rows)
	}
	if r.Many != nil {
		r.Many.text(&b)
	}
	if r.Memory != nil {
		r.Memory.text(&b)
	}
	return b.String()
}

func (r *results) caseTable(b *strings.Builder) {
	rows := [][]string{{"case", "hank", "git", "ratio", "must", "stretch", "", "git, fsync", "ratio", "git, batch", "ratio", "hank unsynced", "ratio"}}
	parts := [][]string{{"of which, medians", "hank", "git"}}
	for _, c := range r.Cases {
		rows = append(rows, []string{c.Title, c.Sides[hankSide].text(r.Runs), c.Sides[gitSide].text(r.Runs), ratioText(c.Ratio), fmt.Sprintf("≤ %.2f", c.Target), fmt.Sprintf("%.2f", c.Stretch), c.Verdict,
			c.Sides[gitFsyncSide].text(r.Runs), ratioText(c.RatioFsync), c.Sides[gitBatchSide].text(r.Runs), ratioText(c.RatioBatch), c.Sides[unsyncedSide].text(r.Runs), ratioText(c.RatioUnsynced)})
		ours, theirs := c.Sides[hankSide].parts(), c.Sides[gitSide].parts()
		if ours+theirs != "" {
			parts = append(parts, []string{c.Title, ours, theirs})
		}
	}
	table(b, rows)
	if len(parts) > 1 {
		table(b, parts)
	}
	for _, c := range r.Cases {
		if alone, ok := c.Sides[bareSide]; ok {
			fmt.Fprintf(b, "\n%s: to write the same files under other names and to rename them, in %d folders at once, with nothing else, takes %s, %s of git.\n",
				c.Title, bareAtOnce, alone.text(r.Runs), ratioText(c.RatioAlone))
		}
	}
	b.WriteString("\nChange hints are left out: hank takes none, a full scan decides.\n")
}

func (r *results) commandTable(b *strings.Builder) {
	rows := [][]string{{"command", "hank", "compared with", "which takes", "ratio", "must", ""}}
	for _, c := range r.Commands {
		must := "–"
		if c.Target > 0 {
			must = fmt.Sprintf("≤ %.2f", c.Target)
		}
		rows = append(rows, []string{c.Title, c.Hank.text(r.Runs), c.With, c.Other.text(r.Runs), ratioText(c.Ratio), must, c.Verdict})
	}
	table(b, rows)
}

func (f figure) text(runs int) string {
	if f.Median == 0 {
		return "–"
	}
	few := ""
	if len(f.Samples) < runs {
		few = fmt.Sprintf(", %d runs", len(f.Samples))
	}
	return fmt.Sprintf("%s (%s–%s%s)", short(f.Median), short(f.Min), short(f.Max), few)
}

func (f figure) parts() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(f.Parts)) {
		list = append(list, name+" "+short(f.Parts[name]))
	}
	return strings.Join(list, ", ")
}

func ratioText(x float64) string {
	if x == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", x)
}

// short prints three digits.
func short(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

func (m *many) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s checkpoints of 10 changed files, of %s: median of the first hundred %s, of the last %s (%.2f ×); with a merge beside it %s; worst %s\n",
		humanize.Comma(int64(m.Checkpoints)), humanize.Comma(int64(m.Files)), short(m.Early), short(m.Late), float64(m.Late)/float64(m.Early), short(m.Beside), short(m.Worst))
	if m.Disk == nil {
		return
	}
	d := m.Disk
	fmt.Fprintf(b, "the store: %s in %d files and folders (want < 2,000); %s objects\n", humanize.Bytes(uint64(d.Bytes)), d.Entries, humanize.Comma(int64(d.Objects)))
	rows := [][]string{{"deflated one by one", "blobs", "trees", "commits", "all", "store ÷ all (want ≤ 1.3)", "store ÷ blobs (stretch 1.3)"}}
	for _, by := range []struct {
		name string
		s    deflate.Sizes
	}{{"at hank's level", d.Own}, {"at git's level", d.Git}} {
		size := func(n int64) string { return humanize.Bytes(uint64(n)) }
		rows = append(rows, []string{by.name, size(by.s.Blobs), size(by.s.Trees), size(by.s.Commits), size(by.s.All()),
			fmt.Sprintf("%.2f", float64(d.Bytes)/float64(by.s.All())), fmt.Sprintf("%.2f", float64(d.Bytes)/float64(by.s.Blobs))})
	}
	table(b, rows)
}

func (m *memoryUse) text(b *strings.Builder) {
	fmt.Fprintf(b, "\nmemory for each of %s tracked files: %.0f bytes of heap, %.0f resident (want ≤ 300)\n", humanize.Comma(int64(m.Files)), m.HeapPerFile, m.RSSPerFile)
	if m.PeakFirst == 0 {
		b.WriteString("peaks: this system does not tell\n")
		return
	}
	fmt.Fprintf(b, "peak of a first checkpoint of them %s, of one of a file of %s %s (want ≤ 256 MB); its blob is what git says: %t\n",
		humanize.Bytes(uint64(m.PeakFirst)), humanize.IBytes(uint64(m.BigFile)), humanize.Bytes(uint64(m.PeakBigFile)), m.BlobVerified)
}

// table writes rows as a Markdown table; the first is its head.
func table(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	b.WriteByte('\n')
	for n, row := range rows {
		b.WriteByte('|')
		for i, cell := range row {
			fmt.Fprintf(b, " %-*s |", widths[i], cell)
		}
		b.WriteByte('\n')
		if n == 0 {
			b.WriteByte('|')
			for _, w := range widths {
				b.WriteString(strings.Repeat("-", w+2) + "|")
			}
			b.WriteByte('\n')
		}
	}
}
