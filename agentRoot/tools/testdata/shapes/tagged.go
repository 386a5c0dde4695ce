//go:build (linux || !unix) && !cgo && go1.20

package shapes

import "os"

func Tagged() { os.Getpid() }
