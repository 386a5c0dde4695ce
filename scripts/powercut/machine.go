package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// guest is what the machine runs instead of an init.
//
//go:embed guest.sh
var guest string

// modules are what the kernel needs for the disk, in the order in which it
// takes them. What is not there is in the kernel itself.
var modules = []string{"virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_blk",
	"crc32c_generic", "libcrc32c", "crc16", "mbcache", "jbd2", "ext4"}

// unpackers are how modules are compressed.
var unpackers = map[string][]string{".ko": {"cat"}, ".ko.xz": {"xz", "-dc"}, ".ko.zst": {"zstd", "-dc"}, ".ko.gz": {"gzip", "-dc"}}

// initramfs writes the memory disk of the machine: busybox, hank, the hank that
// it runs, the modules.
func initramfs(w io.Writer, busybox, hank, program, moduleDir string) error {
	a := &archive{w: w}
	for _, dir := range []string{"bin", "dev", "proc", "sys", "tmp", "disk", "modules", "hank"} {
		a.add(dir, 0o040755, nil)
	}
	a.file("bin/busybox", busybox)
	a.add("bin/sh", 0o120777, []byte("busybox"))
	a.file("bin/hank", hank)
	a.add("init", 0o100755, []byte(guest))
	a.add("hank/hank.json", 0o100644, []byte(program))
	found, err := findModules(moduleDir)
	if err != nil {
		return err
	}
	order := ""
	for _, name := range modules {
		path, ok := found[name]
		if !ok {
			continue
		}
		base := filepath.Base(path)
		unpack := unpackers[base[strings.Index(base, ".ko"):]]
		text, err := exec.Command(unpack[0], append(unpack[1:], path)...).Output()
		if err != nil {
			return fmt.Errorf("unpacking %s with %s: %w", path, unpack[0], err)
		}
		a.add("modules/"+name+".ko", 0o100644, text)
		order += name + "\n"
	}
	a.add("modules/order", 0o100644, []byte(order))
	a.add("TRAILER!!!", 0, nil)
	return a.err
}

func findModules(dir string) (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if name, ext, ok := strings.Cut(filepath.Base(path), ".ko"); ok && unpackers[".ko"+ext] != nil {
			found[strings.ReplaceAll(name, "-", "_")] = path
		}
		return err
	})
	return found, err
}

// archive writes the format that the kernel unpacks: cpio, "newc".
type archive struct {
	w   io.Writer
	n   int
	err error
}

func (a *archive) file(name, from string) {
	text, err := os.ReadFile(from)
	if a.err == nil {
		a.err = err
	}
	a.add(name, 0o100755, text)
}

func (a *archive) add(name string, mode uint32, text []byte) {
	if a.err != nil {
		return
	}
	a.n++
	var b bytes.Buffer
	fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", a.n, mode, 0, 0, 1, 0, len(text), 0, 0, 0, 0, len(name)+1, 0, name)
	pad := func() { b.Write(make([]byte, -b.Len()&3)) }
	pad()
	b.Write(text)
	pad()
	_, a.err = a.w.Write(b.Bytes())
}

// qemu is the command of the machine. Its disk has a cache that a power cut
// empties: qemu logs what reaches it and when it is flushed.
func qemu(binary, accelerator, kernel, initrd, disk, log, arguments string) *exec.Cmd {
	c := exec.Command(binary, "-accel", accelerator, "-m", "512", "-smp", "1", "-display", "none", "-serial", "stdio", "-monitor", "none", "-no-reboot", "-net", "none",
		"-kernel", kernel, "-initrd", initrd, "-append", "console=ttyS0 quiet panic=-1 "+arguments,
		"-blockdev", "driver=file,node-name=data,cache.direct=on,filename="+disk,
		"-blockdev", "driver=file,node-name=log,filename="+log,
		"-blockdev", "driver=blklogwrites,node-name=logged,file=data,log=log,log-append=off,log-super-update-interval=1",
		"-device", "virtio-blk-pci,drive=logged,write-cache=on")
	c.Stderr = os.Stderr
	return c
}
