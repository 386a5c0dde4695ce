package main

import (
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hank/internal/hankweave"
)

// layHankweave is the script command
//
//	hankweave DIR [data=PATH] [live] [silent] [packed] [failed]
//
// which lays out an execution as Hankweave leaves it, running in this process
// if live, with a last sign of life an hour ago if silent, and without its last run if failed. The commits stand in
// the environment: $GATHER, $LOOK0, $MEND0, $LOOK1ERROR, $LOOK1, $INITIAL.
func layHankweave(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: hankweave DIR [data=PATH] [live] [silent] [packed] [failed]")
	}
	o := hankweave.Options{}
	for _, arg := range args[1:] {
		switch data, isData := strings.CutPrefix(arg, "data="); {
		case isData:
			o.Data = ts.MkAbs(data)
		case arg == "live":
			o.Pid = os.Getpid()
		case arg == "silent":
			o.Heartbeat = time.Now().Add(-time.Hour)
		case arg == "packed":
			o.Packed = true
		case arg == "failed":
			o.Failed = true
		default:
			ts.Fatalf("unknown word %s", arg)
		}
	}
	x, err := hankweave.Lay(ts.MkAbs(args[0]), o)
	ts.Check(err)
	for name, sha := range x.SHA {
		ts.Setenv(strings.ToUpper(name), sha)
	}
}
