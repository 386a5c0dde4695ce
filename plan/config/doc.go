// Package config reads the settings that people make around a hank: hankweave.json,
// the environment, the command line.
//
// Settings are those of one source; a zero value is not set. Layers are the settings of
// all sources, and Merge tells which of them hold.
//
// The package knows no hank: its overrides reach Merge as settings. It opens no file and
// looks at no environment; both are given to it.
package config
