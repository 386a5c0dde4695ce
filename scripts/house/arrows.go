package main

import (
	"go/types"
	"maps"
	"slices"
)

// An arrow leads from a file to another one of the same package that declares something
// which the first uses: a constant, variable, type, function or method. Fields belong to
// their types and draw none.
type arrow struct{ from, to string }

// arrows are those of a package, with the names that each is about.
func (h *house) arrows(p *pkg) map[arrow][]string {
	found := map[arrow][]string{}
	for ident, object := range p.info.Uses {
		if object.Pkg() != p.types || !isDeclaration(object) {
			continue
		}
		a := arrow{h.file(ident.Pos()), h.file(object.Pos())}
		if name := qualified(origin(object)); a.from != a.to && !slices.Contains(found[a], name) {
			found[a] = append(found[a], name)
		}
	}
	return found
}

func sorted(arrows map[arrow][]string) []arrow {
	return slices.SortedFunc(maps.Keys(arrows), func(a, b arrow) int {
		return slices.Compare([]string{a.from, a.to}, []string{b.from, b.to})
	})
}

// A climb is how many arrows a package has, and how many lead up.
type climb struct{ all, up int }

func (h *house) climbs() map[string]climb {
	found := map[string]climb{}
	for _, p := range h.pkgs {
		all := sorted(h.arrows(p))
		_, up := climbing(all)
		found[p.name] = climb{len(all), len(up)}
	}
	return found
}

// isDeclaration reports whether an object is declared at the level of a package, or is a
// method.
func isDeclaration(o types.Object) bool {
	if o.Parent() == o.Pkg().Scope() {
		return true
	}
	return isMethod(o)
}

// climbing lays the files of a package out on floors, each above all that it uses, as far
// as that can be, and returns the arrows that lead from a lower floor to a higher one all
// the same. Order is from the ground up.
//
// The least number of such arrows is hard to compute (it is the minimum feedback arc set).
// Here each file in turn goes to where it is best, until none can do better, from several
// orders to begin with. The result is the same for the same arrows.
func climbing(all []arrow) (order []string, up []arrow) {
	uses := map[string]map[string]bool{}
	for _, a := range all {
		for _, file := range []string{a.from, a.to} {
			if uses[file] == nil {
				uses[file] = map[string]bool{}
			}
		}
		uses[a.from][a.to] = true
	}
	byName := slices.Sorted(maps.Keys(uses))
	reversed := slices.Clone(byName)
	slices.Reverse(reversed)
	byUse := slices.Clone(byName)
	used := map[string]int{}
	for _, a := range all {
		used[a.to]++
		used[a.from]--
	}
	slices.SortStableFunc(byUse, func(a, b string) int { return used[b] - used[a] })
	for _, start := range [][]string{byUse, byName, reversed} {
		settle(start, uses)
		if found := upward(start, all); order == nil || len(found) < len(up) {
			order, up = start, found
		}
	}
	return order, up
}

// settle moves files within an order until no move of one makes fewer arrows climb.
func settle(order []string, uses map[string]map[string]bool) {
	for better := true; better; {
		better = false
		for _, file := range slices.Clone(order) {
			at := slices.Index(order, file)
			rest := slices.Delete(slices.Clone(order), at, at+1)
			// The cost of a place is counted against that of the ground.
			cost, least, place := 0, 0, 0
			costs := make([]int, len(order))
			for i, below := range rest {
				if uses[file][below] {
					cost--
				}
				if uses[below][file] {
					cost++
				}
				if costs[i+1] = cost; cost < least {
					least, place = cost, i+1
				}
			}
			if costs[at] > least {
				copy(order, slices.Insert(rest, place, file))
				better = true
			}
		}
	}
}

// upward returns the arrows that lead up in an order.
func upward(order []string, all []arrow) (up []arrow) {
	floor := map[string]int{}
	for i, file := range order {
		floor[file] = i
	}
	for _, a := range all {
		if floor[a.from] < floor[a.to] {
			up = append(up, a)
		}
	}
	return up
}
