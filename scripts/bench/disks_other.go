//go:build !unix

package main

func syncDisks() {}
