package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// The log that qemu's blklogwrites keeps of a disk, in the format of Linux's
// dm-log-writes: a superblock, then for each request a sector that describes it
// and the data that were written.
const (
	sector      = 512
	logMagic    = 0x6a736677736872
	flagFlush   = 1 // all writes that were complete before are on the medium
	flagFUA     = 2 // this write is on the medium
	flagDiscard = 4
	flagMark    = 8
)

// page is the piece that a disk writes whole: a write that was cut off may have
// left some of its pages.
const page = 4096

// request is one entry of the log.
type request struct {
	at    int64 // of the data on the disk, in bytes
	flags uint64
	data  int64 // where the data stand in the log
	size  int64
}

func (r request) durable() bool { return r.flags&(flagFlush|flagFUA) != 0 }

// readLog lists the requests of a log, which may have been cut off anywhere.
func readLog(log io.ReaderAt) ([]request, error) {
	super := make([]byte, 32)
	if _, err := log.ReadAt(super, 0); err != nil {
		return nil, fmt.Errorf("the log of the disk has no superblock: %w", err)
	}
	if magic, size := binary.LittleEndian.Uint64(super), binary.LittleEndian.Uint32(super[24:]); magic != logMagic || size != sector {
		return nil, fmt.Errorf("the log of the disk begins with %x and has sectors of %d bytes; blklogwrites makes neither", magic, size)
	}
	var all []request
	head := make([]byte, 32)
	for at := int64(sector); ; {
		if _, err := log.ReadAt(head, at); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		r := request{at: int64(binary.LittleEndian.Uint64(head)) * sector, flags: binary.LittleEndian.Uint64(head[16:]), data: at + sector}
		r.size = int64(binary.LittleEndian.Uint64(head[8:])) * sector
		if r.size == 0 && r.flags == 0 { // behind the last entry
			return all, nil
		}
		if r.flags&(flagDiscard|flagMark) == 0 {
			at += r.size
		}
		at += sector
		all = append(all, r)
	}
}

// cut is what a power cut did to a disk.
type cut struct {
	kept, lost int // writes after the last flush that the medium has whole, and that it has not
}

// apply brings a disk from where it was before a log to where the power cut at
// the log's end has left it: all writes up to the last flush, and of the later
// ones, page by page, a share that the medium took before.
func apply(disk io.WriterAt, log io.ReaderAt, share float64, r *rand.Rand) (cut, error) {
	var c cut
	all, err := readLog(log)
	if err != nil {
		return c, err
	}
	last := -1
	for i, q := range all {
		if q.flags&flagFlush != 0 {
			last = i
		}
	}
	buf := make([]byte, page)
	for i, q := range all {
		if q.flags&(flagDiscard|flagMark) != 0 {
			continue // the medium may go on showing what was discarded
		}
		certain, whole := i <= last || q.durable(), true
		for from := int64(0); from < q.size; from += page {
			if !certain && r.Float64() >= share {
				whole = false
				continue
			}
			piece := buf[:min(page, q.size-from)]
			if _, err := log.ReadAt(piece, q.data+from); errors.Is(err, io.EOF) && !certain {
				whole = false // qemu was killed while it logged this
				continue
			} else if err != nil {
				return c, fmt.Errorf("request %d of the log: %w", i, err)
			}
			if _, err := disk.WriteAt(piece, q.at+from); err != nil {
				return c, err
			}
		}
		switch {
		case certain:
		case whole:
			c.kept++
		default:
			c.lost++
		}
	}
	return c, nil
}

// copySparse copies a disk without its holes.
func copySparse(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := out.Truncate(info.Size()); err != nil {
		return err
	}
	r := bufio.NewReaderSize(in, 1<<20)
	buf, empty := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); ; {
		n, err := io.ReadFull(r, buf)
		if n > 0 && string(buf[:n]) != string(empty[:n]) {
			if _, err := out.WriteAt(buf[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
