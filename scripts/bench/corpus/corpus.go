// Package corpus makes up workspaces for the benchmarks: files like those of source code,
// which follow from a seed, and changes of them.
//
// It writes only into the directory that a tree was made in, and measures nothing.
package corpus

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// Tree is a made-up workspace: directories of about a hundred files, two to five
// deep, with sizes and content like those of source code. What is in it
// follows from the seed alone.
type Tree struct {
	Dir   string
	seed  uint64
	dirs  []string // relative, those that hold files
	Files int
	words []byte // what texts are cut from

	versions map[int]int // of the files that were changed
	changes  *rand.Rand
}

const (
	perFolder  = 100
	meanSize   = 6500 // bytes
	spread     = 1.2  // of the logarithm of sizes
	largest    = 256 << 10
	wordsSize  = 4 << 20
	vocabulary = 6000
)

// Make writes a tree of so many files into a new directory.
func Make(dir string, files int, seed uint64) (*Tree, error) {
	t := &Tree{Dir: dir, seed: seed, Files: files, versions: map[int]int{}, changes: rand.New(rand.NewPCG(seed, 3))}
	rng := rand.New(rand.NewPCG(seed, 1))
	t.words = text(rng)
	t.dirs = folders(rng, max(1, files/perFolder))
	for _, d := range t.dirs {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.log\n/build/\n!keep.log\n"), 0o644); err != nil {
		return nil, err
	}
	var g errgroup.Group
	g.SetLimit(4)
	for d := range t.dirs {
		g.Go(func() error { return t.fill(d) })
	}
	return t, g.Wait()
}

// fill writes the files of one directory: those whose number, divided by the
// count of directories, leaves the directory's own.
func (t *Tree) fill(d int) error {
	for i := d; i < t.Files; i += len(t.dirs) {
		if err := t.writeFile(i); err != nil {
			return err
		}
	}
	if d%10 != 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(t.Dir, t.dirs[d], "trace.log"), []byte("ignored\n"), 0o644)
}

func (t *Tree) writeFile(i int) error {
	name := t.Path(i)
	if IsLink(i) {
		return os.Symlink(filepath.Base(t.Path(i+len(t.dirs))), name)
	}
	mode := os.FileMode(0o644)
	if i%50 == 7 {
		mode = 0o755
	}
	return os.WriteFile(name, t.Content(i), mode)
}

func IsLink(i int) bool { return i%100 == 13 }

func (t *Tree) Path(i int) string {
	kinds := [...]string{"go", "py", "md", "ts", "json", "txt"}
	return filepath.Join(t.Dir, t.dirs[i%len(t.dirs)], fmt.Sprintf("part_%06d.%s", i, kinds[i%len(kinds)]))
}

// Content is a first line of its own, and a piece of text or, for one file in
// sixteen, bytes that nothing deflates. A new version has a new first line.
func (t *Tree) Content(i int) []byte {
	rng := rand.New(rand.NewPCG(t.seed, uint64(i)<<8|2))
	size := math.Exp(math.Log(meanSize) - spread*spread/2 + spread*rng.NormFloat64())
	n := min(int(size), largest)
	out := fmt.Appendf(make([]byte, 0, n+64), "file %d of tree %d, version %d\n", i, t.seed, t.versions[i])
	if i%16 == 5 {
		for len(out) < n {
			out = binary.LittleEndian.AppendUint64(out, rng.Uint64())
		}
		return out
	}
	at := rng.IntN(len(t.words) - n)
	return append(out, t.words[at:at+n]...)
}

// Change writes new versions of n files in place, as an editor does.
func (t *Tree) Change(n int) error {
	for chosen := map[int]bool{}; len(chosen) < n; {
		i := t.changes.IntN(t.Files)
		if IsLink(i) || chosen[i] {
			continue
		}
		chosen[i] = true
		t.versions[i]++
		if err := os.WriteFile(t.Path(i), t.Content(i), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Versions returns, of each file that was changed, its first two contents.
func (t *Tree) Versions() map[int][2][]byte {
	found := map[int][2][]byte{}
	for i, version := range t.versions {
		if version == 0 {
			continue
		}
		var content [2][]byte
		for v := range content {
			t.versions[i] = v
			content[v] = t.Content(i)
		}
		t.versions[i] = version
		found[i] = content
	}
	return found
}

func folders(rng *rand.Rand, n int) []string {
	var list, parents []string
	for i := range max(1, n/40) {
		parents = append(parents, fmt.Sprintf("module%03d", i))
	}
	depth := map[string]int{}
	for i := range n {
		parent := parents[rng.IntN(len(parents))]
		dir := fmt.Sprintf("%s/unit%04d", parent, i)
		list = append(list, dir)
		if depth[dir] = depth[parent] + 1; depth[dir] < 4 {
			parents = append(parents, dir)
		}
	}
	return list
}

// text is lines of made-up words, some much more frequent than others. Many
// lines begin as an earlier one does.
func text(rng *rand.Rand) []byte {
	words := make([][]byte, vocabulary)
	for i := range words {
		w := make([]byte, 2+rng.IntN(9))
		for j := range w {
			w[j] = "etaoinshrdlucmfwygpbvk"[min(rng.IntN(22), rng.IntN(22))]
		}
		words[i] = w
	}
	zipf := rand.NewZipf(rng, 1.2, 2, vocabulary-1)
	out := make([]byte, 0, wordsSize+1024)
	for len(out) < wordsSize {
		if len(out) > 4096 && rng.IntN(2) == 0 {
			at := len(out) - 4096 + rng.IntN(3900)
			out = append(out, out[at:at+20+rng.IntN(60)]...)
		} else {
			out = append(out, "\t\t\t"[:rng.IntN(4)]...)
		}
		for range 2 + rng.IntN(6) {
			out = append(append(out, words[zipf.Uint64()]...), " .(,"[rng.IntN(4)*rng.IntN(2)])
		}
		out = append(out, '\n')
	}
	return out
}

// Rework changes n paths: nine in ten get new content, the others vanish here
// and appear there.
func (t *Tree) Rework(n int) error {
	if err := t.Change(n - n/10); err != nil {
		return err
	}
	for i, moved := 0, 0; moved < n/20; i += 7 {
		if IsLink(i) || t.versions[i] > 0 || IsLink(i-len(t.dirs)) {
			continue
		}
		if err := os.Rename(t.Path(i), t.Path(i)+".moved"); err != nil {
			return err
		}
		moved++
	}
	return nil
}
