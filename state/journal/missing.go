package journal

import "slices"

// Missing lists the events up to a number that the journal does not have, in order. What
// comes after damage counts as missing up to the next base: Open puts it away.
func (o *Opened) Missing(through uint64) (gone []Range) {
	next := uint64(1)
	for _, r := range o.Ranges {
		if r.First < next || !o.beginsAt(r.First) {
			continue
		}
		if r.First > next {
			gone = append(gone, Range{next, r.First - 1})
		}
		last := r.Last
		for _, d := range o.Damage { // no number need be lost by it
			if d.After >= r.First {
				last = min(last, d.After)
			}
		}
		next = last + 1
	}
	if through >= next {
		gone = append(gone, Range{next, through})
	}
	return gone
}

// beginsAt reports whether a base begins with the event.
func (o *Opened) beginsAt(seq uint64) bool {
	return slices.ContainsFunc(o.Segments, func(s Segment) bool { return s.Base && s.First == seq }) &&
		!slices.ContainsFunc(o.Damage, func(d Damage) bool { return d.Next == seq })
}
