package recovery

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	gitmemory "github.com/go-git/go-git/v5/storage/memory"

	"hank/internal/vfs"
)

// strictFsck judges a store as git fsck --strict does, from its files alone and
// without any of hank's own reading: every object in every pack against its
// name and against the rules of its kind, every index against its pack, every
// reference, and everything that references lead to. Packs are judged once.
type strictFsck struct {
	mu    sync.Mutex
	packs map[string]*judgedPack // by content
}

type judgedPack struct {
	objects  map[string]*judgedObject
	problems []string
}

// judgedObject is an object with what it leads to, by name.
type judgedObject struct {
	kind  plumbing.ObjectType
	links []judgedLink
}

type judgedLink struct {
	id   string
	kind plumbing.ObjectType
}

// check returns what is wrong with the store in a directory.
func (f *strictFsck) check(fsys vfs.FS, dir string) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	objects := map[string]*judgedObject{}
	packs := filepath.Join(dir, "objects", "pack")
	list, err := fsys.ReadDir(packs)
	if err != nil {
		bad("%v", err)
	}
	for _, e := range list {
		base, isIndex := strings.CutSuffix(e.Name(), ".idx")
		if !isIndex {
			continue
		}
		idx, err := vfs.ReadFile(fsys, filepath.Join(packs, e.Name()))
		if err != nil {
			bad("%v", err)
			continue
		}
		content, err := vfs.ReadFile(fsys, filepath.Join(packs, base+".pack"))
		if err != nil {
			bad("%v", err)
			continue
		}
		p := f.pack(idx, content)
		for _, why := range p.problems {
			bad("%s: %s", base, why)
		}
		for id, o := range p.objects {
			objects[id] = o
		}
	}
	head, err := vfs.ReadFile(fsys, filepath.Join(dir, "HEAD"))
	if err != nil || !regexp.MustCompile(`^ref: refs/heads/\S+\n?$`).Match(head) {
		bad("HEAD is %q, %v", head, err)
	}
	cut := map[string]bool{}
	if text, err := vfs.ReadFile(fsys, filepath.Join(dir, "shallow")); err == nil {
		for line := range strings.Lines(string(text)) {
			cut[strings.TrimSpace(line)] = true
		}
	}
	var tips []judgedLink
	for name, text := range looseRefs(fsys, dir, "refs") {
		id := strings.TrimSuffix(text, "\n")
		if !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(id) { // git does without the newline
			bad("%s is %q", name, text)
			continue
		}
		tips = append(tips, judgedLink{id, plumbing.CommitObject})
	}
	seen := map[string]bool{}
	for len(tips) > 0 {
		at := tips[len(tips)-1]
		tips = tips[:len(tips)-1]
		o := objects[at.id]
		switch {
		case o == nil:
			bad("%s %s is missing", at.kind, at.id)
		case o.kind != at.kind:
			bad("%s is a %s and not a %s", at.id, o.kind, at.kind)
		}
		if o == nil || seen[at.id] {
			continue
		}
		seen[at.id] = true
		for _, l := range o.links {
			if l.kind == plumbing.CommitObject && cut[at.id] || seen[l.id] {
				continue
			}
			tips = append(tips, l)
		}
	}
	return problems
}

// looseRefs reads what lies below a directory of references.
func looseRefs(fsys vfs.FS, dir, rel string) map[string]string {
	found := map[string]string{}
	list, _ := fsys.ReadDir(filepath.Join(dir, rel))
	for _, e := range list {
		name := path.Join(rel, e.Name())
		if e.IsDir() {
			for n, text := range looseRefs(fsys, dir, name) {
				found[n] = text
			}
			continue
		}
		text, err := vfs.ReadFile(fsys, filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			text = []byte(err.Error())
		}
		found[name] = string(text)
	}
	return found
}

// pack judges a pack with its index.
func (f *strictFsck) pack(idx, content []byte) *judgedPack {
	sum := sha1.New()
	_, _ = sum.Write(content)
	_, _ = sum.Write(idx)
	key := string(sum.Sum(nil))
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.packs[key]; p != nil {
		return p
	}
	p := judgePack(idx, content)
	if f.packs == nil {
		f.packs = map[string]*judgedPack{}
	}
	f.packs[key] = p
	return p
}

func judgePack(idx, content []byte) *judgedPack {
	p := &judgedPack{objects: map[string]*judgedObject{}}
	bad := func(format string, args ...any) { p.problems = append(p.problems, fmt.Sprintf(format, args...)) }
	if n := len(content) - sha1.Size; n < 0 || sha1.Sum(content[:n]) != [sha1.Size]byte(content[n:]) {
		bad("the pack's checksum is wrong")
		return p
	}
	n := len(idx) - 2*sha1.Size
	if n < 0 || !bytes.Equal(idx[n:n+sha1.Size], content[len(content)-sha1.Size:]) || sha1.Sum(idx[:n+sha1.Size]) != [sha1.Size]byte(idx[n+sha1.Size:]) {
		bad("the index's checksums are wrong")
		return p
	}
	index := idxfile.NewMemoryIndex()
	if err := idxfile.NewDecoder(bytes.NewReader(idx)).Decode(index); err != nil {
		bad("index: %v", err)
		return p
	}
	store := gitmemory.NewStorage()
	if err := packfile.UpdateObjectStorage(store, bytes.NewReader(content)); err != nil {
		bad("pack: %v", err)
		return p
	}
	for id, o := range store.Objects {
		if has, err := index.Contains(id); err != nil || !has {
			bad("%s is not in the index", id)
		}
		r, err := o.Reader()
		if err != nil {
			bad("%s: %v", id, err)
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil || plumbing.ComputeHash(o.Type(), text) != id {
			bad("%s: its content has another name (%v)", id, err)
			continue
		}
		links, why := judgeObject(o.Type(), text)
		if why != "" {
			bad("%s %s: %s", o.Type(), id, why)
		}
		p.objects[id.String()] = &judgedObject{o.Type(), links}
	}
	if n, err := index.Count(); err != nil || int(n) != len(store.Objects) {
		bad("the index has %d objects, the pack %d (%v)", n, len(store.Objects), err)
	}
	return p
}

// person is what git accepts as an author or committer.
var (
	person = regexp.MustCompile(`^[^<>\n]+ <[^<>\n]*> (0|[1-9][0-9]*) [+-][0-9]{4}$`)
	header = regexp.MustCompile(`^tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)author ([^\n]*)\ncommitter ([^\n]*)\n(?:encoding [^\n]*\n)?\n`)
)

func judgeObject(kind plumbing.ObjectType, text []byte) (links []judgedLink, why string) {
	switch kind {
	case plumbing.BlobObject:
		return nil, ""
	case plumbing.TreeObject:
		return judgeTree(text)
	case plumbing.CommitObject:
		m := header.FindSubmatch(text)
		if m == nil {
			return nil, "its header is wrong"
		}
		if !person.Match(m[3]) || !person.Match(m[4]) {
			return nil, fmt.Sprintf("its author %q or committer %q is wrong", m[3], m[4])
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return nil, "a NUL byte is in it"
		}
		links = append(links, judgedLink{string(m[1]), plumbing.TreeObject})
		for line := range strings.Lines(string(m[2])) {
			links = append(links, judgedLink{strings.TrimSpace(strings.TrimPrefix(line, "parent ")), plumbing.CommitObject})
		}
		return links, ""
	}
	return nil, "it is of no kind that hank makes"
}

func judgeTree(text []byte) (links []judgedLink, why string) {
	var before string
	names := map[string]bool{}
	for len(text) > 0 {
		mode, rest, found := bytes.Cut(text, []byte(" "))
		name, rest, ended := bytes.Cut(rest, []byte{0})
		if !found || !ended || len(rest) < sha1.Size {
			return links, "it ends in the middle"
		}
		id := hex.EncodeToString(rest[:sha1.Size])
		text = rest[sha1.Size:]
		kind := plumbing.BlobObject
		switch string(mode) {
		case "100644", "100755", "120000":
		case "40000":
			kind = plumbing.TreeObject
		default:
			return links, fmt.Sprintf("mode %q of %q", mode, name)
		}
		lower := strings.ToLower(string(name))
		if slices.Contains([]string{"", ".", "..", ".git", "git~1", ".gitmodules"}, lower) || strings.ContainsAny(lower, "/\\") || id == strings.Repeat("0", 40) {
			return links, fmt.Sprintf("an entry %q, %s", name, id)
		}
		order := string(name)
		if kind == plumbing.TreeObject {
			order += "/"
		}
		if order <= before || names[string(name)] {
			return links, fmt.Sprintf("%q is out of order, or there twice", name)
		}
		before, names[string(name)] = order, true
		links = append(links, judgedLink{id, kind})
	}
	return links, ""
}
