// Package datalist tells how the data of an execution differs from how its last run has found
// it.
//
// It reads the data and the list that is kept of it, and writes neither.
package datalist

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hank/internal/shell"
	"hank/internal/term"
	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/state"
)

// The dataHash of an execution is the SHA-256 of a listing of its data: for
// each file, in the order of a walk, a line with its quoted name, its size in
// bytes and its time of change in nanoseconds; for directories, whose times say
// nothing, only the name; for links also where they lead.
// Nothing is read but the directories, so that data of any size costs a walk.
const (
	dataTime    = 5 * time.Second // after which data is too much to be looked at
	dataEntries = 2_000_000
	// listingSize is the size in bytes up to which the listing itself is kept,
	// so that what differs later can be named.
	listingSize = 32 << 20
)

// Found is how the data of an execution is now.
type Found struct {
	Listing []byte
	Digest  string  // of Listing: the dataHash
	Change  *Change // since the last run; nil: there is none, or nothing was known
}

// IsKept reports whether the listing is short enough to be kept.
func (f *Found) IsKept() bool { return len(f.Listing) <= listingSize }

// Change is what differs between the data as an execution knew it and the
// data as it is.
type Change struct {
	Names []string // some of what was added, removed or changed; nil if it is not known
	More  int      // how many more there are
}

// String names what differs, in one clause.
func (c *Change) String() string {
	if len(c.Names) == 0 {
		return "what differs is not known"
	}
	text := strings.Join(c.Names, ", ")
	if c.More > 0 {
		text += fmt.Sprintf(", and %d more", c.More)
	}
	return text
}

// Warning is what a command says of a change that begins where the state is. What is done
// stays done.
func (c *Change) Warning(m layout.Meta, s *state.State) string {
	text := fmt.Sprintf("warning: the data %s has changed since the last run (%s)", m.ReadOnlySourceDataPath, c)
	finished := s.Next()
	if finished == 0 {
		return text
	}
	first := s.ExecutionPlan()[0].CodonID
	who, them := "codon "+string(first), "it"
	if finished > 1 {
		who, them = term.Count(finished, "codon"), "them"
	}
	return text + fmt.Sprintf("; %s ran with the old data; `hank retry %s` reruns %s", who, shell.Quote(string(first)), them)
}

// Look lists the data of an execution, and compares it with how its last run has found it. Of
// an execution without data the digest is the one that is known.
func Look(ctx context.Context, fsys vfs.FS, l layout.Layout, m layout.Meta) (f Found, err error) {
	path := m.ReadOnlySourceDataPath
	if path == "" {
		return Found{Digest: m.DataHash}, nil
	}
	if m.LinkType == "copy" {
		path = l.Data() // what the codons read
	}
	if f.Listing, err = listData(ctx, path); err != nil {
		return Found{}, err
	}
	if f.Digest = digestOf(f.Listing); f.Digest == m.DataHash || m.DataHash == "" {
		return f, nil
	}
	f.Change = &Change{}
	if old, err := vfs.ReadFile(fsys, l.DataListing()); err == nil && digestOf(old) == m.DataHash {
		f.Change = compareListings(old, f.Listing)
	}
	return f, nil
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// listData walks through the data, which may be one file.
func listData(ctx context.Context, path string) ([]byte, error) {
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("the data %s cannot be read: %w", path, err)
	}
	began, entries := time.Now(), 0
	var b bytes.Buffer
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if entries++; entries > dataEntries || entries%512 == 0 && time.Since(began) > dataTime {
			return errTooMuch
		}
		rel, _ := filepath.Rel(root, name)
		if err != nil {
			fmt.Fprintf(&b, "unreadable %q\n", filepath.ToSlash(rel))
			return nil
		}
		describeData(&b, name, filepath.ToSlash(rel), e)
		return ctx.Err()
	})
	if errors.Is(err, errTooMuch) {
		err = fmt.Errorf("the data %s has more than can be looked at in %s: hank will not notice changes of it", path, dataTime)
	}
	return b.Bytes(), err
}

var errTooMuch = errors.New("too much")

func describeData(b *bytes.Buffer, name, rel string, e fs.DirEntry) {
	switch e.Type() {
	case fs.ModeDir:
		fmt.Fprintf(b, "folder %q\n", rel)
	case fs.ModeSymlink:
		to, _ := os.Readlink(name) // one that cannot be read leads nowhere
		fmt.Fprintf(b, "link %q %q\n", rel, to)
	case 0:
		if info, err := e.Info(); err == nil {
			fmt.Fprintf(b, "file %q %d %d\n", rel, info.Size(), info.ModTime().UnixNano())
			return
		}
		fallthrough // it went away meanwhile
	default:
		fmt.Fprintf(b, "other %q\n", rel)
	}
}

// maxNamed bounds what a change names one by one.
const maxNamed = 5

// compareListings names what differs between two listings.
func compareListings(before, now []byte) *Change {
	old := map[string]string{}
	for line := range strings.Lines(string(before)) {
		old[nameIn(line)] = line
	}
	c := &Change{}
	add := func(what, name string) {
		if len(c.Names) < maxNamed {
			c.Names = append(c.Names, what+" "+name)
		} else {
			c.More++
		}
	}
	for line := range strings.Lines(string(now)) {
		name := nameIn(line)
		if was, there := old[name]; !there {
			add("added", name)
		} else if was != line {
			add("changed", name)
		}
		delete(old, name)
	}
	for line := range strings.Lines(string(before)) { // in order
		if name := nameIn(line); old[name] != "" {
			add("removed", name)
			delete(old, name)
		}
	}
	return c
}

// nameIn is the quoted name in a line of a listing.
func nameIn(line string) string {
	_, rest, _ := strings.Cut(line, " ")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return strings.TrimSpace(rest)
	}
	return quoted
}
