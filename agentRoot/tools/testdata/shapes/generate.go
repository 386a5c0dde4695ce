//go:build ignore

// Generate is a program that go build leaves out.
package main

func main() {}
