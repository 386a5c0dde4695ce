package vfstest

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"

	"hank/internal/vfs"
)

// page is the unit in which unsynced bytes of a file survive or not.
const page = 4096

// Crash returns an image of the disk after a power cut at this moment; m goes
// on unharmed. What was synced is in it. Of the rest each piece survives with
// a probability of unsyncedPercent, independently of its order: a page of a
// write, a change of size, a name in a directory. Some surviving pages are torn
// at a byte, and some lost pages leave their size behind as zeros. 0 keeps
// exactly what was synced, 100 everything. The same rng gives the same image.
func (m *Mem) Crash(rng *rand.Rand, unsyncedPercent int) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := crash{rng: rng, percent: unsyncedPercent, done: map[*node]*node{}}
	return &Mem{root: c.node(m.root), ticks: m.ticks}
}

type crash struct {
	rng     *rand.Rand
	percent int
	done    map[*node]*node // hard links stay one file
}

func (c *crash) survives() bool { return c.rng.IntN(100) < c.percent }
func (c *crash) partial() bool  { return c.percent > 0 && c.percent < 100 }

func (c *crash) node(n *node) *node {
	if copied := c.done[n]; copied != nil {
		return copied
	}
	out := &node{mode: n.mode, mtime: n.mtime}
	c.done[n] = out
	if n.mode.IsDir() {
		c.dir(n, out)
		return out
	}
	content := slices.Clip(n.disk)
	for _, ch := range n.pending {
		content = c.change(content, ch)
	}
	out.data = slices.Clip(content)
	out.disk = out.data
	return out
}

func (c *crash) dir(n, out *node) {
	out.names, out.changed = map[string]*node{}, map[string]*node{}
	all := make([]string, 0, len(n.names))
	for name := range n.names {
		all = append(all, name)
	}
	for name := range n.changed {
		if n.names[name] == nil {
			all = append(all, name)
		}
	}
	slices.Sort(all) // map order must not reach the rng
	for _, name := range all {
		child := n.names[name]
		if old, unsynced := n.changed[name]; unsynced && !c.survives() {
			child = old
		}
		if child != nil {
			out.names[name] = c.node(child)
		}
	}
}

// change returns content with what survives of one unsynced change.
func (c *crash) change(content []byte, ch change) []byte {
	if ch.data == nil {
		if c.survives() {
			return ch.apply(content)
		}
		return content
	}
	for data, off := ch.data, ch.off; len(data) > 0; {
		n := min(int64(len(data)), page-off%page)
		piece := data[:n]
		data = data[n:]
		switch {
		case c.survives():
			if c.partial() && c.rng.IntN(4) == 0 {
				piece = piece[:c.rng.Int64N(n+1)]
			}
			if len(piece) > 0 {
				content = change{off, piece}.apply(content)
			}
		case c.partial() && c.rng.IntN(2) == 0 && off+n > int64(len(content)):
			content = resize(slices.Clip(content), off+n)
		}
		off += n
	}
	return content
}

// LoseUnsynced plays what Linux does after a failed fsync: the unsynced bytes
// of a file stay visible, but no later Sync brings them to the platter.
func (m *Mem) LoseUnsynced(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, err := m.find(name); err == nil {
		n.pending = nil
	}
}

var _ vfs.File = (*file)(nil)

// Sum is a hash of what a program sees of the disk: names, kinds and contents.
// Two images with one sum are the same to whoever opens them.
func (m *Mem) Sum(seed maphash.Seed) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var h maphash.Hash
	h.SetSeed(seed)
	m.root.sum(&h)
	return h.Sum64()
}

func (n *node) sum(h *maphash.Hash) {
	fmt.Fprintf(h, "%v %d %d\n", n.mode, len(n.data), len(n.names))
	_, _ = h.Write(n.data)
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		fmt.Fprintf(h, "%q ", name)
		n.names[name].sum(h)
	}
}
