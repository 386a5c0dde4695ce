package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"hank/internal/typo"
)

// parts are what a model's id says: words (sonnet), a version (4.5), and a
// date, which names no other model.
type parts struct {
	words   []string
	version []int
}

// noise are words that say how an id is kept and not which model it is.
var noise = []string{"latest", "preview", "exp", "claude"}

// split takes an id or a name apart. Numbers inside of words stay there (4o,
// k2); claude is left out, as sonnet alone means the same.
func split(id string) parts {
	var p parts
	for _, f := range strings.FieldsFunc(strings.ToLower(id), func(r rune) bool { return strings.ContainsRune("-._/: ", r) }) {
		n, err := strconv.Atoi(f)
		switch {
		case isDate(f):
		case err == nil && n < 1000:
			p.version = append(p.version, n)
		case !slices.Contains(noise, f) && !slices.Contains(p.words, f):
			p.words = append(p.words, f)
		}
	}
	for len(p.version) > 1 && p.version[len(p.version)-1] == 0 {
		p.version = p.version[:len(p.version)-1]
	}
	return p
}

func (p parts) first() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

// isDate reports whether s is a day: 20250929.
func isDate(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && len(s) == 8 && n > 20000000 && n < 21000000
}

// fitting is rule 5 of Lookup: one model, or several of different families.
func (r *Registry) fitting(want parts, in func(*Entry) bool) []*Entry {
	if len(want.words) == 0 {
		return nil
	}
	var fits []*Entry
	fewest := 1 << 30
	exact := false // a model with the very version wins over one of a later sub-version
	for i := range r.models {
		m := &r.models[i]
		have := r.parts[m]
		if !in(m) || !containsAll(have.words, want.words) || !startsWith(have.version, want.version) {
			continue
		}
		same := len(want.version) > 0 && len(have.version) == len(want.version)
		extra := len(have.words) - len(want.words)
		switch {
		case same != exact && exact, same == exact && extra > fewest:
			continue
		case same != exact, extra < fewest:
			fits, fewest, exact = nil, extra, same
		}
		fits = append(fits, m)
	}
	return newestOfEach(fits, r.parts)
}

func containsAll(have, want []string) bool {
	for _, w := range want {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return true
}

func startsWith(have, want []int) bool {
	return len(have) >= len(want) && slices.Equal(have[:len(want)], want)
}

// newestOfEach keeps the newest model of each family; a family is a provider
// and a set of words.
func newestOfEach(models []*Entry, of map[*Entry]parts) []*Entry {
	groups := map[string][]*Entry{}
	for _, m := range models {
		words := slices.Sorted(slices.Values(of[m].words))
		key := m.Provider + "/" + strings.Join(words, " ")
		groups[key] = append(groups[key], m)
	}
	var kept []*Entry
	for _, group := range groups {
		kept = append(kept, newest(group)...)
	}
	return kept
}

// newest is the model that was released last; among several of one day the one
// with the shortest id, which is the name without a date.
func newest(models []*Entry) []*Entry {
	best := slices.MaxFunc(models, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Released, b.Released), cmp.Compare(len(b.ID), len(a.ID)), cmp.Compare(b.ID, a.ID))
	})
	return []*Entry{best}
}

// near lists up to three models that a name that means none was perhaps meant for: that
// with an effort that it has, that of another provider, or of a provider with nearly the same name, or those that have
// nearly the same words. A name that is another's is answered by nothing.
func (r *Registry) near(n name) []string {
	if id, effort := withoutEffort(n.id); effort != "" {
		base := n
		base.id = id + "-low" // the least of all
		if ref, ok, _ := r.find(base); ok {
			return []string{ref.String()}
		}
	}
	before, after, cut := strings.Cut(n.id, "/")
	switch {
	case n.agent != "" && n.provider == "":
		return nil // what an agent calls its models by is not known here
	case n.provider != "":
		if near := r.alike(n.id, n.in); len(near) > 0 {
			return near
		}
		if ref, ok, _ := r.find(name{whole: n.id, id: n.id}); ok {
			return []string{ref.String()}
		}
		return nil
	case cut:
		if provider := typo.Nearest(before, r.Providers); provider != "" {
			if ref, ok, _ := r.find(name{whole: n.id, provider: provider, id: after}); ok {
				return []string{ref.String()}
			}
		}
		return nil
	}
	return r.alike(n.id, firstHand)
}

// alike lists up to three models that have nearly all words of an id, best first.
func (r *Registry) alike(id string, in func(*Entry) bool) []string {
	want := split(id)
	type scored struct {
		m     *Entry
		score int
	}
	var all []scored
	for i := range r.models {
		m := &r.models[i]
		if !in(m) {
			continue
		}
		have := r.parts[m]
		score := 0
		for _, w := range want.words {
			best := 0
			for _, h := range have.words {
				best = max(best, alike(w, h))
			}
			if best == 0 {
				score = 0
				break
			}
			score += best
		}
		if score == 0 {
			continue
		}
		if slices.Equal(want.version, have.version) {
			score++
		}
		all = append(all, scored{m, score*8 - len(have.words)})
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.m.Released, a.m.Released), cmp.Compare(len(a.m.ID), len(b.m.ID)), cmp.Compare(a.m.ID, b.m.ID))
	})
	var names []string
	for _, s := range all[:min(3, len(all))] {
		names = append(names, s.m.Provider+"/"+s.m.ID)
	}
	return names
}

// alike scores two words: equal, one the start of the other, or the same
// letters but for a few.
func alike(a, b string) int {
	switch {
	case a == b:
		return 4
	case len(a) > 2 && strings.HasPrefix(b, a), len(b) > 2 && strings.HasPrefix(a, b):
		return 2
	case len(a) > 3 && len(b) > 3 && common(a, b)*4 >= max(len(a), len(b))*3:
		return 1
	}
	return 0
}

// common is the length of the longest common subsequence.
func common(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range len(a) {
		diagonal := 0
		for j := range len(b) {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}
