//go:build !unix

package scan

import "os"

func deviceOf(os.FileInfo) (uint64, bool) { return 0, false }
