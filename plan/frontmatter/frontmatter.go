package frontmatter

import (
	"fmt"
	"strconv"
	"strings"

	"hank/plan/jsonshape"
)

// Meta is what a prompt file says about itself at its top, between two
// lines of three dashes.
type Meta struct {
	Name        string   `json:"name,omitzero"`
	Description string   `json:"description,omitzero"`
	Version     string   `json:"version,omitzero"`
	Author      string   `json:"author,omitzero"`
	Tags        []string `json:"tags,omitzero"`
}

// Split takes the front matter off a text. It understands the part
// of YAML that front matter is made of: "key: value" lines, plain or quoted,
// and lists in brackets or as lines with a dash. Keys that it does not know are
// passed over. problem tells the first thing that it could not read; the text
// is split all the same.
func Split(text string) (meta Meta, rest, problem string) {
	head, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		if head, ok = strings.CutPrefix(text, "---\r\n"); !ok {
			return meta, text, ""
		}
	}
	key := ""
	for head != "" {
		line, after, _ := strings.Cut(head, "\n")
		head = after
		line = strings.TrimSuffix(line, "\r")
		if line == "---" {
			return meta, head, problem
		}
		var complaint string
		if key, complaint = meta.line(key, line); complaint != "" && problem == "" {
			problem = complaint
		}
	}
	return Meta{}, text, "the front matter has no end: a line of three dashes is missing, and everything counts as the prompt"
}

// line reads one line; key is the one that list items belong to.
func (m *Meta) line(key, line string) (newKey, problem string) {
	trimmed := strings.TrimSpace(line)
	if trimmed == "" || trimmed[0] == '#' {
		return key, ""
	}
	if item, ok := strings.CutPrefix(trimmed, "- "); ok {
		if key == "tags" {
			m.Tags = append(m.Tags, plainScalar(item))
		}
		return key, ""
	}
	if line[0] == ' ' || line[0] == '\t' {
		if key == "description" { // continues in the next line
			m.Description = strings.TrimSpace(strings.TrimLeft(m.Description, ">|-+") + " " + trimmed)
		}
		return key, ""
	}
	name, value, ok := strings.Cut(trimmed, ":")
	if !ok {
		return key, fmt.Sprintf("the front matter has a line that is not \"key: value\": %s", jsonshape.Quote(line))
	}
	value = strings.TrimSpace(value)
	switch name {
	case "name":
		m.Name = plainScalar(value)
	case "description":
		m.Description = plainScalar(value)
	case "version":
		m.Version = plainScalar(value)
	case "author":
		m.Author = plainScalar(value)
	case "tags":
		m.Tags = nil
		if list, ok := strings.CutPrefix(value, "["); ok {
			for _, tag := range strings.Split(strings.TrimSuffix(list, "]"), ",") {
				m.Tags = append(m.Tags, plainScalar(strings.TrimSpace(tag)))
			}
		} else if value != "" {
			m.Tags = []string{plainScalar(value)}
		}
	}
	return name, ""
}

// plainScalar takes quotes off a value.
func plainScalar(value string) string {
	if len(value) >= 2 && value[0] == '"' {
		if s, err := strconv.Unquote(value); err == nil {
			return s
		}
	}
	if len(value) >= 2 && value[0] == '\'' && value[len(value)-1] == '\'' {
		return strings.ReplaceAll(value[1:len(value)-1], "''", "'")
	}
	return value
}
