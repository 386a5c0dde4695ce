package plan

import (
	"io"
	"io/fs"
	"testing"

	"hank/plan/diagnostic"
)

// A total that is known is known from the start, and does not change.
func TestTheExtentOfAPlanIsKnownFromTheStart(t *testing.T) {
	t.Parallel()
	const budgeted = `{"id":"b","name":"B","model":"shell","continuationMode":"fresh","promptText":"true","budget":{"maxDollars":1}}`
	for name, c := range map[string]struct {
		items []string
		want  string
	}{
		"codons":                  {[]string{shellCodon("a"), shellCodon("b")}, "2"},
		"a limit":                 {[]string{shellCodon("a"), loopOf("l", limit(4), shellCodon("c"), shellCodon("d")), shellCodon("e")}, "10"},
		"a budget":                {[]string{loopOf("l", limit(3), shellCodon("c"), budgeted), shellCodon("e")}, "≤7"},
		"until a context is full": {[]string{shellCodon("a"), loopOf("l", untilFull, shellCodon("c")), shellCodon("e")}, "?"},
	} {
		p, ds := Load(folder(map[string]string{"hank.json": hankOf(c.items...)}), "hank.json")
		if p == nil {
			t.Fatalf("%s: %s", name, diagnostic.Text(ds))
		}
		entries := p.Initial()
		if e := outlineOf(t, p).Extent(0, 0, nil); e.String() != c.want {
			t.Errorf("%s, before it is laid out: %s, want %s", name, e, c.want)
		}
		for i := 0; i < len(entries) && i < 20; i++ {
			e := p.Extent(len(entries), loopOfEntry(entries), i)
			if again := outlineOf(t, p).Extent(len(entries), i, &entries[i]); again.String() != e.String() || !e.Open && again != e {
				t.Errorf("%s, at %s: %+v by its outline, %+v by its entries", name, entries[i].CodonID, again, e)
			}
			if got := e.String(); got != c.want && (c.want != "≤7" && c.want != "?" || entries[i].CodonID != "e") {
				t.Errorf("%s, at %s: %s, want %s", name, entries[i].CodonID, got, c.want)
			}
			drop, add := p.Grow(entries, i, Outcome{Status: Completed, ContextExceeded: i == 4})
			entries = splice(entries, i, drop, add)
		}
		if e := p.Extent(len(entries), loopOfEntry(entries), len(entries)); e != (Extent{Codons: len(entries)}) {
			t.Errorf("%s, at the end: %+v, %d entries", name, e, len(entries))
		}
	}
	for e, want := range map[Extent]string{{Codons: 3}: "3", {Codons: 3, AtMost: true}: "at most 3", {Codons: 3, AtMost: true, Open: true}: "an unknown number of", {}: "an unknown number of"} {
		if got := e.Text(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}

func loopOfEntry(entries []Entry) func(int) *LoopContext {
	return func(i int) *LoopContext { return entries[i].LoopContext }
}

func outlineOf(t *testing.T, p *Program) Outline {
	t.Helper()
	files, err := p.Frozen()
	if err != nil {
		t.Fatal(err)
	}
	return FrozenOutline(func(path string) ([]byte, error) {
		for _, f := range files {
			if f.Path == path {
				r, err := f.open()
				if err != nil {
					return nil, err
				}
				defer r.Close()
				return io.ReadAll(r)
			}
		}
		return nil, fs.ErrNotExist
	})
}
