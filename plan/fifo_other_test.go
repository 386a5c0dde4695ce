//go:build !unix

package plan

import "errors"

func makeFIFO(string) error { return errors.ErrUnsupported }
