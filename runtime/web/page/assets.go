package page

import (
	"embed"
	"fmt"
)

//go:embed assets
var assets embed.FS

// Asset is a file of the page itself, with its type; false: there is no such file. It says
// nothing of any execution.
func Asset(name string) (content []byte, kind string, there bool) {
	kind, there = map[string]string{"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml", "shell.html": "text/html; charset=utf-8"}[name]
	if !there {
		return nil, "", false
	}
	content, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(fmt.Sprintf("the program lacks its file %s: %v", name, err)) // it is built in
	}
	return content, kind, true
}
