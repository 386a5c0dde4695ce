//go:build !linux

package layout

func ofKernel(string) bool { return false }
