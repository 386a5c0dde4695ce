package match

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// The fixed part of an entry in git's index, as gitformat-index(5) has it:
// ten numbers of 32 bits, the id, and 16 bits of flags.
const (
	indexFixed    = 40 + packdb.HashSize + 2
	indexMode     = 24
	indexExtended = 0x4000 // flag: 16 more bits of flags follow
	modeSubmodule = 0o160000
)

// indexPaths returns the paths that an index of version 2 to 4 names, and the
// id of the index that it shares entries with, if it is split. A submodule, and
// a directory of a sparse index, ends in a slash. What is damaged ends the list.
func indexPaths(data []byte) (paths []string, shared string) {
	if len(data) < 12+packdb.HashSize || string(data[:4]) != "DIRC" {
		return nil, ""
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil, ""
	}
	rest := data[12 : len(data)-packdb.HashSize]
	var last []byte
	for range count {
		if len(rest) < indexFixed {
			return paths, ""
		}
		head := indexFixed
		if binary.BigEndian.Uint16(rest[indexFixed-2:])&indexExtended != 0 {
			head += 2
		}
		size, name := 0, []byte(nil)
		if version == 4 {
			name, size = compressedName(rest, head, last)
		} else {
			name, size = paddedName(rest, head)
		}
		if size == 0 || size > len(rest) {
			return paths, ""
		}
		if len(name) > 0 { // in a split index: a change to the entry of the shared one
			path := string(name)
			if binary.BigEndian.Uint32(rest[indexMode:])&worktree.ModeType == modeSubmodule {
				path += "/"
			}
			paths = append(paths, path)
		}
		last, rest = name, rest[size:]
	}
	return paths, sharedIndex(rest)
}

// paddedName returns the name of an entry of version 2 or 3 and the entry's
// size: it ends in one to eight NUL bytes, at a multiple of eight.
func paddedName(entry []byte, head int) ([]byte, int) {
	if head > len(entry) {
		return nil, 0
	}
	end := bytes.IndexByte(entry[head:], 0)
	if end < 0 {
		return nil, 0
	}
	return entry[head : head+end], (head + end + 8) &^ 7
}

// compressedName returns the name of an entry of version 4 and the entry's
// size: how many bytes to drop from the end of the last name, in the encoding
// of pack offsets, and what to put there instead.
func compressedName(entry []byte, head int, last []byte) ([]byte, int) {
	drop, at := -1, head
	for more := true; more; at++ {
		if at >= len(entry) || drop > len(last) {
			return nil, 0
		}
		drop = (drop+1)<<7 | int(entry[at]&0x7f)
		more = entry[at]&0x80 != 0
	}
	if at >= len(entry) || drop < 0 || drop > len(last) {
		return nil, 0
	}
	end := bytes.IndexByte(entry[at:], 0)
	if end < 0 {
		return nil, 0
	}
	name := append(bytes.Clone(last[:len(last)-drop]), entry[at:at+end]...)
	return name, at + end + 1
}

// sharedIndex finds the extension "link" of a split index.
func sharedIndex(rest []byte) string {
	for len(rest) >= 8 {
		size := int(binary.BigEndian.Uint32(rest[4:]))
		body := rest[8:]
		if size < 0 || size > len(body) {
			return ""
		}
		if string(rest[:4]) == "link" && size >= packdb.HashSize {
			return hex.EncodeToString(body[:packdb.HashSize])
		}
		rest = body[size:]
	}
	return ""
}
