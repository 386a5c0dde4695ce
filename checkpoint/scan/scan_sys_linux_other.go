//go:build linux && !amd64 && !arm64

package scan

const sysFstatat = 0 // package unix is used
