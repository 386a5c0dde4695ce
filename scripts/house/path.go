package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"regexp"
)

const (
	readingOrder = "docs/reading.md"
	// maxPath is how many lines of code the files of the reading order may have together:
	// everything between a transition, the disk and the next opening.
	maxPath = 4000
)

// A row of the reading order begins with its file.
var rowFile = regexp.MustCompile("(?m)^\\| `([^`]+\\.go)` \\|")

// measurePath compares the lines of code of the files of the reading order with the limit.
func measurePath(tree fs.FS) (report string, wrong []string, err error) {
	text, err := fs.ReadFile(tree, readingOrder)
	if err != nil {
		return "", nil, err
	}
	rows := rowFile.FindAllSubmatch(text, -1)
	if len(rows) == 0 {
		return "", nil, fmt.Errorf("%s names no file", readingOrder)
	}
	lines, counted := 0, map[string]bool{}
	for _, row := range rows {
		name := string(row[1])
		if counted[name] {
			continue
		}
		counted[name] = true
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return "", nil, err
		}
		lines += codeLines(source)
	}
	if lines > maxPath {
		wrong = append(wrong, fmt.Sprintf("the %d files of %s have %d lines of code, more than %d: move what is not on the path of a transition to other files", len(counted), readingOrder, lines, maxPath))
	}
	return fmt.Sprintf("%7d lines of code in the %d files of %s\n", lines, len(counted), readingOrder), wrong, nil
}

// codeLines counts the lines of a Go file that have more on them than a comment.
func codeLines(source []byte) int {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0) // comments are skipped
	lines, last := 0, 0
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue // not in the text
		}
		from, to := file.Line(pos), file.Line(pos)
		if tok == token.STRING {
			to = file.Line(pos + token.Pos(len(text)) - 1)
		}
		lines += to - max(from, last+1) + 1
		last = to
	}
}
