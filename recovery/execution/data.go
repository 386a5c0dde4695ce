package execution

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

	"hank/internal/vfs"
	"hank/recovery/layout"
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

// DataChange is what differs between the data as an execution knew it and the
// data as it is.
type DataChange struct {
	Names []string // some of what was added, removed or changed; nil if it is not known
	More  int      // how many more there are
}

// String names what differs, in one clause.
func (c *DataChange) String() string {
	if len(c.Names) == 0 {
		return "what differs is not known"
	}
	text := strings.Join(c.Names, ", ")
	if c.More > 0 {
		text += fmt.Sprintf(", and %d more", c.More)
	}
	return text
}

// CheckData compares the data with how the execution knew it, and from now on
// knows it as it is. The change is nil if there is none, or if nothing was
// known. An error is no reason to stop: the data cannot be read, or not in time,
// and is not known from now on.
func (x *Execution) CheckData(ctx context.Context) (*DataChange, error) {
	path := x.Metadata.ReadOnlySourceDataPath
	if path == "" {
		return nil, nil
	}
	if x.Metadata.LinkType == "copy" {
		path = x.Layout.Data() // what the codons read
	}
	before, keep := x.Metadata.DataHash, x.Layout.DataListing()
	listing, err := listData(ctx, path)
	if err != nil {
		if before == "" {
			return nil, err
		}
		return nil, errors.Join(err, x.SetMeta(func(m *layout.Meta) { m.DataHash = "" }))
	}
	now := digestOf(listing)
	if now == before {
		return nil, nil
	}
	var change *DataChange
	if before != "" {
		change = &DataChange{}
		if old, err := vfs.ReadFile(x.FS, keep); err == nil && digestOf(old) == before {
			change = compareListings(old, listing)
		}
	}
	if len(listing) <= listingSize {
		err = vfs.ReplaceFile(x.FS, keep, listing, 0o600, vfs.Durable)
	} else {
		err = x.FS.Remove(keep)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return change, fmt.Errorf("keeping the listing of the data: %w", err)
	}
	return change, x.SetMeta(func(m *layout.Meta) { m.DataHash = now })
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
func compareListings(before, now []byte) *DataChange {
	old := map[string]string{}
	for line := range strings.Lines(string(before)) {
		old[nameIn(line)] = line
	}
	c := &DataChange{}
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
