package state

// list is a sequence that only grows at its end and is shared between states.
// Appending writes into the shared array when nobody has written there before
// and copies the pointers otherwise (as after a trial), and an older state never
// sees a younger one's records.
type list[T any] struct {
	items []T
	used  *int // how much of the array is taken, by any list that shares it
}

func newList[T any](items []T) list[T] {
	n := len(items)
	return list[T]{items[:n:n], &n}
}

func (l list[T]) len() int { return len(l.items) }

func (l list[T]) append(more ...T) list[T] {
	if len(more) == 0 {
		return l
	}
	if l.used == nil || *l.used != len(l.items) {
		return newList(append(l.items[:len(l.items):len(l.items)], more...))
	}
	before := cap(l.items)
	l.items = append(l.items, more...)
	if cap(l.items) != before { // moved to an array of its own
		n := len(l.items)
		return list[T]{l.items, &n}
	}
	*l.used = len(l.items)
	return l
}

// prefix returns the first n items; appending to it copies.
func (l list[T]) prefix(n int) list[T] {
	if n == len(l.items) {
		return l
	}
	return list[T]{items: l.items[:n:n]}
}
