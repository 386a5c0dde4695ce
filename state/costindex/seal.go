package costindex

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// The seal names every file of a closed database with its size and CRC-32C.
// It is checked and removed before Badger sees the files, so that Badger never
// meets a damaged one (it would end the process over some) nor one that a
// crash left unfinished; and it is written after Badger has closed them. The
// index is throw-away, so nothing here is synced: what a power cut leaves
// either fits the seal or is thrown away.

func sealName(dir string) string { return filepath.Join(dir, "seal") }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fingerprint returns the text of the seal that fits the files.
func fingerprint(dir string) ([]byte, error) {
	var text bytes.Buffer
	entries, err := os.ReadDir(filepath.Join(dir, "db"))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			return nil, fmt.Errorf("%s is not a file", e.Name())
		}
		sum := crc32.New(castagnoli)
		n, err := hashFile(sum, filepath.Join(dir, "db", e.Name()))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%08x %d %s\n", sum.Sum32(), n, e.Name())
	}
	return text.Bytes(), nil
}

func hashFile(w io.Writer, name string) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return io.Copy(w, f)
}

func checkSeal(dir string) error {
	want, err := os.ReadFile(sealName(dir))
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("it was not closed cleanly")
	}
	if err != nil {
		return err
	}
	got, err := fingerprint(dir)
	if err != nil {
		return err
	}
	if bytes.Equal(got, want) {
		return nil
	}
	for line := range strings.Lines(string(want)) {
		if !bytes.Contains(got, []byte(line)) {
			name := line[strings.LastIndexByte(line, ' ')+1:]
			return fmt.Errorf("its file %s was changed", strings.TrimSpace(name))
		}
	}
	return errors.New("somebody added files to it")
}

// writeSeal seals the files of the database, which is closed, if the
// lock is still held: after the lock was removed with them another process may be at them.
func writeSeal(dir string, held func() bool) error {
	text, err := fingerprint(dir)
	if err != nil {
		return err
	}
	tmp := sealName(dir) + ".tmp"
	if err := os.WriteFile(tmp, text, 0o600); err != nil {
		return err
	}
	if !held() {
		return errors.Join(errors.New("its files were removed meanwhile"), os.Remove(tmp))
	}
	return os.Rename(tmp, sealName(dir))
}

func removeSeal(dir string) error {
	if err := os.Remove(sealName(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
