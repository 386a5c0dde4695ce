// Command screenshots takes the pictures of the documents, and pictures of everything for who
// looks at them: of the pages of hank web in Chromium, and of hank watch in a terminal.
//
//	go run ./scripts/screenshots --hank bin/hank                  the pictures in docs/pictures
//	go run ./scripts/screenshots --hank bin/hank --all --out DIR  every page, in every form
//	go run ./scripts/screenshots --hank bin/hank --record         the execution that is shown
//
// The pictures of the documents show a recorded execution, testdata/weather, so that a test can
// tell whether they are current. --all shows real runs of the same hank, and others in progress.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"
)

func main() {
	program := flag.String("hank", "bin/hank", "the program")
	out := flag.String("out", "docs/pictures", "the directory of the pictures")
	all := flag.Bool("all", false, "every page, in every form, of runs that are made for it")
	record := flag.Bool("record", false, "make the recorded execution again")
	pace := flag.String("pace", "1", "how many seconds an agent takes for a step")
	flag.Parse()
	log.SetFlags(0)
	if err := take(*program, *out, *pace, *all, *record); err != nil {
		log.Fatal(err)
	}
}

func take(program, out, pace string, all, record bool) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.Mkdir(stage, 0o700); err != nil {
		return fmt.Errorf("the pictures need a directory of their own: %w", err)
	}
	defer os.RemoveAll(stage)
	time.Local = time.UTC
	if err := os.Setenv("HANK_STATE_DIR", filepath.Join(stage, "state")); err != nil {
		return err
	}
	r, err := newRig(program, stage, pace)
	if err != nil {
		return err
	}
	defer r.end()
	if record {
		return r.record(recorded)
	}
	shoot, end, err := newCamera()
	if err != nil {
		return err
	}
	defer end()
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	if !all {
		return r.committed(shoot, out)
	}
	if err := errors.Join(r.weather(), r.others()); err != nil {
		return err
	}
	s, stop, err := r.web(shoot)
	if err != nil {
		return err
	}
	defer stop()
	return errors.Join(s.everyPage(out), r.terminals(shoot, out))
}
