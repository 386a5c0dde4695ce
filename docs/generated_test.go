package docs

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schema is as much of a JSON Schema as the tables need.
type schema struct {
	Ref         string             `json:"$ref"`
	Description string             `json:"description"`
	Type        any                `json:"type"`
	Enum        []string           `json:"enum"`
	Title       string             `json:"title"`
	Properties  properties         `json:"properties"`
	Required    []string           `json:"required"`
	OneOf       []*schema          `json:"oneOf"`
	Defs        map[string]*schema `json:"$defs"`
}

func loadSchema(t *testing.T, name string) *schema {
	t.Helper()
	var s schema
	if err := json.Unmarshal([]byte(read(t, filepath.Join("schema", name))), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// properties are the members of an object in the order of the file.
type properties []property

type property struct {
	name   string
	schema *schema
}

func (p *properties) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil { // the brace
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		member := property{name: name.(string)}
		if err := d.Decode(&member.schema); err != nil {
			return err
		}
		*p = append(*p, member)
	}
	return nil
}

func TestFieldTablesOfHankJSONAreCurrent(t *testing.T) {
	t.Parallel()
	s := loadSchema(t, "hank.schema.json")
	var out strings.Builder
	out.WriteString("\n")
	for _, part := range []struct{ def, title string }{
		{"", "Root"}, {"codon", "Codon"}, {"loop", "Loop"}, {"copyRig", "Rig: copy"}, {"commandRig", "Rig: command"}, {"output", "outputFiles"},
		{"skipIf", "skipIf"}, {"expect", "expect"}, {"retryConfig", "retryConfig"}, {"retryRule", "Rules of retryConfig"}, {"gate", "Gate"}, {"codonBudget", "Budget of a codon"}, {"budget", "Budget of a hank or a loop"}, {"overrides", "overrides"},
		{"requirements", "requirements"}, {"meta", "meta"},
	} {
		def := s
		if part.def != "" {
			def = s.Defs[part.def]
		}
		if def == nil {
			t.Fatalf("the schema has no %s", part.def)
		}
		out.WriteString("## " + part.title + "\n\n" + row("field", "type", "meaning") + "|---|---|---|\n")
		out.WriteString(fieldRows(def, ""))
		out.WriteString("\n")
	}
	generated(t, "hank-json.md", out.String())
}

// fieldRows are the rows of an object's table. Objects without a definition of
// their own are folded in. What is required is set in bold.
func fieldRows(def *schema, prefix string) string {
	var out strings.Builder
	for _, p := range def.Properties {
		label := "`" + prefix + p.name + "`"
		if slices.Contains(def.Required, p.name) {
			label = "**" + label + "**"
		}
		out.WriteString(row(label, kind(p.schema), p.schema.Description))
		if p.schema.Ref == "" {
			out.WriteString(fieldRows(p.schema, prefix+p.name+"."))
		}
	}
	return out.String()
}

// kind is a field's type in a word.
func kind(f *schema) string {
	switch {
	case len(f.Enum) > 0:
		return "`" + strings.Join(f.Enum, "` `") + "`"
	case f.Ref != "":
		return "object"
	case len(f.OneOf) > 0:
		var kinds []string
		for _, v := range f.OneOf {
			if k := kind(v); !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
		return strings.Join(kinds, " or ")
	}
	if one, ok := f.Type.(string); ok {
		return one
	}
	return "any"
}

func TestStatusTableOfStateJSONIsCurrent(t *testing.T) {
	t.Parallel()
	codon := loadSchema(t, "state.schema.json").Defs["Codon"]
	meaning := map[string]string{
		"preparing": "the rig runs", "starting": "the agent is about to be started", "initializing": "its process is there, its session is not",
		"running": "it works", "completing-sentinels": "it has ended; its checkpoint is being made", "completed": "done",
		"failed": "with the reason", "skipped": "by `hank skip`, or because of its `skipIf`",
	}
	var out strings.Builder
	out.WriteString("\n" + row("status", "meaning", "needs") + "|---|---|---|\n")
	for _, v := range codon.OneOf {
		if meaning[v.Title] == "" {
			t.Fatalf("there is no word for the status %s", v.Title)
		}
		out.WriteString(row("`"+v.Title+"`", meaning[v.Title], "`"+strings.Join(v.Required, "` `")+"`"))
	}
	out.WriteString("\n")
	generated(t, "state-json.md", out.String())
}

// Every member that hank writes is explained.
func TestEveryMemberOfStateJSONIsExplained(t *testing.T) {
	t.Parallel()
	text, s := read(t, "state-json.md"), loadSchema(t, "state.schema.json")
	explained := map[string]bool{}
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		explained[m[1]] = true
	}
	check := func(of string, def *schema) {
		for _, p := range def.Properties {
			if !explained[p.name] {
				t.Errorf("state-json.md does not explain %s of %s", p.name, of)
			}
		}
	}
	check("the root", s)
	for _, name := range []string{"Hank", "Run", "Codon", "Position", "Tokens", "LoopContext", "FailureReason", "BudgetExceeded", "StartedBy", "StartingConditions", "PlanEntry"} {
		if s.Defs[name] == nil {
			t.Fatalf("the schema has no %s", name)
		}
		check(name, s.Defs[name])
	}
}

var jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```")

// What stands in the pages as an example is a hank, or settings.
func TestExamplesAreHanks(t *testing.T) {
	t.Parallel()
	hank, settings := published(t, "hank.schema.json"), published(t, "hankweave.schema.json")
	found := 0
	for _, page := range pages(t) {
		for _, m := range jsonBlock.FindAllStringSubmatch(read(t, page), -1) {
			found++
			if strings.Contains(m[1], `"prices"`) {
				fits(t, settings, []byte(m[1]))
				continue
			}
			fits(t, hank, []byte(m[1]))
		}
	}
	if found == 0 {
		t.Error("no page has an example")
	}
}
