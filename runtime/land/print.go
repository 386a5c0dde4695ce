package land

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hank/internal/gitignore"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/runtime/verdict"
	"hank/state"
)

// Reader is how the commands that a report names are typed where it is read.
type Reader struct {
	Git  string              // the -C that git needs there; empty: none
	Hank func(string) string // a command of hank, with the -e that it needs there
}

// How many a report names: of what matters first, and where it is said in short.
const (
	mostListed = 20
	mostShort  = 3
)

// Print writes the report for people. A dry run names what matters: what is left
// out, mixed and checked, and then the commits. What has landed is said in short; the
// file of the report has it all.
func (l *Landing) Print(out *os.File, at Reader) error {
	p := printer{l: l, out: out, at: at}
	p.headline()
	switch {
	case l.Already:
	case l.made && !l.CutShort:
		p.checks()
		p.ways()
		return p.err
	case l.DryRun:
		p.matters()
		p.checks()
		p.table()
	default:
		p.table()
		p.short()
		p.checks()
	}
	p.private()
	p.ways()
	return p.err
}

type printer struct {
	l   *Landing
	out *os.File
	at  Reader
	err error // the first
}

func (p *printer) say(format string, args ...any) {
	if err := term.Fprintf(p.out, format, args...); p.err == nil {
		p.err = err
	}
}

func (p *printer) headline() {
	l := p.l
	base := orElse(l.Base[:min(12, len(l.Base))], "nothing: the repository has no commit")
	if l.CutShort {
		p.say("this landing was interrupted after its branch was created; its report:\n")
	}
	is, gets := "is", "has"
	if l.DryRun {
		is, gets = "would be", "would get"
	}
	switch {
	case l.here:
		p.say("HEAD is on branch %s, which has everything up to %s; nothing was written\n", l.Branch, l.To)
	case l.made && !l.CutShort:
	case l.Already:
		p.say("branch %s has everything up to %s; nothing was written\n", l.Branch, l.To)
	case l.Update:
		p.say("branch %s %s %s more, on top of %s\n", l.Branch, gets, term.Count(len(l.Commits), "commit"), base)
	default:
		p.say("branch %s %s %s on top of %s\n", l.Branch, is, term.Count(len(l.Commits), "commit"), base)
	}
	if l.After != "" && !l.Already && !l.made && l.From.Kind == state.KindManual {
		p.say("it continues after %s; the base has that, and branch %s\n", l.From, l.After)
	} else if l.After != "" && !l.Already && !l.made {
		p.say("it continues after %s, where branch %s has ended\n", l.From, l.After)
	}
	if s := l.Switch; s != nil && !l.Already {
		staged, are := "", "are on"
		if n := len(s.Staged); n > 0 {
			staged = fmt.Sprintf("; %s stay staged", term.Count(n, "path"))
			if n == 1 {
				staged = "; 1 path stays staged"
			}
		}
		if l.DryRun {
			are = "would move to"
		}
		p.say("HEAD and the index %s %s; no file is written%s\n", are, l.Branch, staged)
	}
}

// matters is what the user decides by.
func (p *printer) matters() {
	l := p.l
	if n := len(l.LeftOut); n > 0 {
		p.say("left out, %s:\n", term.Count(n, "path"))
		for i, f := range l.LeftOut {
			if i == mostListed {
				p.say("  and %d more\n", n-i)
				break
			}
			p.say("  %s: %s\n", quotePath(f.String()), f.Why)
		}
	}
	mixed, changed := l.byWhom(l.Mixed)
	deleted, removed := l.byWhom(l.Deleted)
	saved := fmt.Sprintf("not on the branch, saved in checkpoint %s:", l.From.SHA[:12])
	p.names("had uncommitted changes before the run and were changed by it; the branch has them as the run left them, with your changes where it kept them:", mixed)
	p.names("had uncommitted changes before the run and were changed since by hand, by no codon; the branch has them as they were left by hand:", changed)
	p.names("had uncommitted changes before the run and were deleted by it; "+saved, deleted)
	p.names("had uncommitted changes before the run and were deleted since by hand, by no codon; "+saved, removed)
	p.names("uncommitted before the run and not changed by it; not on the branch:", l.Uncommitted)
	p.names("removed in the index alone; still on the branch:", l.Untracked)
	p.names("new on the branch, and ignored until the run changed the ignore rules:", l.Uncovered)
}

// short is the same in a line each.
func (p *printer) short() {
	l := p.l
	left := make([]FileName, len(l.LeftOut))
	for i, f := range l.LeftOut {
		left[i] = f.FileName
	}
	mixed, changed := l.byWhom(l.Mixed)
	deleted, removed := l.byWhom(l.Deleted)
	saved := ", saved in checkpoint " + string(l.From.SHA[:12])
	for _, k := range []struct {
		what  string
		names []FileName
	}{
		{"left out of the branch", left},
		{"on the branch with your uncommitted changes", mixed},
		{"on the branch with uncommitted changes that are by hand alone", changed},
		{"uncommitted before the run and deleted by it" + saved, deleted},
		{"uncommitted before the run and deleted since by hand" + saved, removed},
		{"uncommitted before the run and still so", l.Uncommitted},
		{"removed in the index alone, and still on the branch", l.Untracked},
		{"new on the branch, and ignored until the run changed the ignore rules", l.Uncovered},
	} {
		if len(k.names) == 0 {
			continue
		}
		var some []string
		for _, n := range k.names[:min(len(k.names), mostShort)] {
			some = append(some, quotePath(n.String()))
		}
		if more := len(k.names) - len(some); more > 0 {
			some = append(some, fmt.Sprintf("and %d more", more))
		}
		p.say("%s: %s\n", k.what, strings.Join(some, ", "))
	}
}

// byWhom divides files into those that codons have changed, and those that only the user has.
func (l *Landing) byWhom(files []FileName) (codons, hand []FileName) {
	for _, f := range files {
		if slices.ContainsFunc(l.ByHand, func(h FileName) bool { return h.String() == f.String() }) {
			hand = append(hand, f)
		} else {
			codons = append(codons, f)
		}
	}
	return codons, hand
}

func (p *printer) checks() {
	for _, k := range p.l.Checks {
		if k.Right {
			p.say("%s %s\n", term.Green(p.out, "checked:"), k.What)
			continue
		}
		p.say("%s %s: %s\n", term.Red(p.out, "FAILED CHECK:"), k.What, k.Why)
		p.names("  these:", k.Files)
	}
}

// table lists the codons and the commits that they have become, in their order.
func (p *printer) table() {
	l := p.l
	var rows [][6]string
	next := 0
	commit := func(codon, result, cost string) {
		k := l.Commits[next]
		next++
		rows = append(rows, [6]string{k.SHA[:12], codon, result, cost, counts(k.Files), k.Title})
	}
	for _, k := range l.Codons {
		result := k.Verdict.String()
		if k.But != "" {
			result += ", " + k.But
		}
		at := slices.IndexFunc(l.Commits, func(c Commit) bool { return c.SHA == k.Commit })
		for next < at { // what was changed by hand, or archived
			commit("-", "-", "-")
		}
		switch {
		case at == next:
			commit(string(k.CodonID), result, k.Cost.Text())
		case k.Commit != "":
			rows = append(rows, [6]string{k.Commit[:12], string(k.CodonID), result, k.Cost.Text(), "-", "-"})
		default:
			rows = append(rows, [6]string{"-", string(k.CodonID), result, k.Cost.Text(), "-", "no changes"})
		}
	}
	for next < len(l.Commits) {
		commit("-", "-", "-")
	}
	if len(rows) == 0 {
		return
	}
	p.say("\n")
	t := term.NewTable(p.out)
	// A painted cell is wider than it looks.
	row := func(first string, rest ...string) {
		if l.DryRun { // the commits will have other names
			t.Row(cellsOf(rest)...)
			return
		}
		t.Row(append([]any{term.Yellow(p.out, first)}, cellsOf(rest)...)...)
	}
	row("commit", "codon", "result", "cost", "files", "title")
	for i, cells := range rows {
		if i == mostListed && len(rows) > mostListed+1 {
			row("and", strconv.Itoa(len(rows)-i)+" more", "-", "-", "-", "-")
			break
		}
		row(cells[0], cells[1], cells[2], cells[3], cells[4], cells[5])
	}
	if err := t.Flush(); p.err == nil {
		p.err = err
	}
	if more := verdict.CaveatText(l.Caveats); more != "" {
		p.say("caveats: %s\n", more)
	}
	p.say("\n")
}

func cellsOf(texts []string) []any {
	cells := make([]any, len(texts))
	for i, text := range texts {
		cells[i] = text
	}
	return cells
}

// counts is how many files a commit adds, changes and deletes.
func counts(files []File) string {
	n := map[string]int{}
	for _, f := range files {
		n[f.Kind]++
	}
	var parts []string
	for _, k := range []struct{ sign, kind string }{{"+", "added"}, {"~", "modified"}, {"-", "deleted"}} {
		if n[k.kind] > 0 {
			parts = append(parts, k.sign+strconv.Itoa(n[k.kind]))
		}
	}
	return strings.Join(parts, " ")
}

// private warns of files for secrets, with the way to leave them out.
func (p *printer) private() {
	l := p.l
	if len(l.Private) == 0 || l.Already {
		return
	}
	p.names(term.Yellow(p.out, "new files on the branch whose names suggest secrets:"), l.Private)
	p.say("a line for each in %s, such as %s, excludes them from the next landing", term.ShortPath(filepath.Join(l.Repository, ".gitignore")), gitignore.Line(l.Private[0].String()))
	if !l.DryRun && l.Switch == nil && !l.Update {
		p.say("; git%s branch -D %s removes this one", p.at.Git, shell.Quote(l.Branch))
	}
	p.say("\n")
}

// ways are the commands that lead on.
func (p *printer) ways() {
	l := p.l
	branch := shell.Quote(l.Branch)
	switch {
	case l.DryRun:
		p.say("nothing was written to your repository\n")
		return
	case l.Report != "":
		p.say("report     %s\n", term.ShortPath(l.Report))
	}
	if !l.Already {
		p.say("view with  git%s log -p %s\n", p.at.Git, shell.Quote(orElse(l.short, l.Branch)))
	}
	s := l.Switch
	if s == nil {
		p.backOfBranch()
		switch {
		case l.barred != "":
			p.say("no switch  %s\n", l.barred)
		case l.follows:
			p.say("switch to  %s\n", p.at.Hank("hank land --branch "+branch+" --switch"))
		}
		return
	}
	p.say("way back   %s\n", s.back(l, p.at.Git))
	main := strings.TrimPrefix(s.Ref, "refs/heads/")
	switch {
	case s.Commit == "" && s.Ref != "" && main != l.Branch:
		p.say("rename     git%s branch -m %s %s\n", p.at.Git, branch, shell.Quote(main))
	case l.into != "":
		option := ""
		if _, err := os.Lstat(filepath.Join(l.Repository, ".gitmodules")); err == nil {
			option = " --no-recurse-submodules" // which would be fetched from elsewhere
		}
		// Full names of references, since a short one can begin with a sign, or be a tag's as well.
		git, ref, into, tip := "git"+p.at.Git, "refs/heads/"+l.Branch, "refs/heads/"+l.into, shell.Quote(l.Tip)
		p.say("merge      %s fetch%s . %s && %s switch %s\n", git, option, shell.Quote(ref+":"+into), git, shell.Quote(l.into))
		// Each update-ref changes nothing: it is a question, and fails where the branch has moved.
		// branch -f refuses where another work tree has the branch.
		p.say("unmerge    %[1]s update-ref %[2]s %[3]s %[3]s && %[1]s update-ref %[4]s %[3]s %[3]s && %[1]s switch %[5]s && %[1]s branch -q -f %[6]s %[7]s\n",
			git, shell.Quote(into), tip, shell.Quote(ref), branch, shell.Quote(l.into), l.intoAt)
	}
}

// backOfBranch is the way back of a landing that has made or moved a branch and nothing else.
// Git refuses it where the branch is checked out, or has moved since.
func (p *printer) backOfBranch() {
	l := p.l
	if l.Already {
		return
	}
	git, tip, branch := "git"+p.at.Git, shell.Quote(l.Tip), shell.Quote(l.Branch)
	last := "branch -q -D " + branch
	if l.Update {
		last = "branch -q -f " + branch + " " + shell.Quote(l.Base)
	}
	p.say("way back   %[1]s update-ref %[2]s %[3]s %[3]s && %[1]s %[4]s\n", git, shell.Quote("refs/heads/"+l.Branch), tip, last)
}

func (p *printer) names(what any, names []FileName) {
	if len(names) == 0 {
		return
	}
	p.say("%s\n", what)
	for i, n := range names {
		if i == mostListed {
			p.say("  and %d more\n", len(names)-i)
			return
		}
		p.say("  %s\n", quotePath(n.String()))
	}
}

// quotePath shows a path on one line: as it is, or, where it holds what does
// not print, quoted.
func quotePath(path string) string {
	if q := strconv.Quote(path); q != `"`+path+`"` {
		return q
	}
	return path
}
