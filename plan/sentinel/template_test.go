package sentinel

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func event(eventType, data string) Event {
	return NewEvent("id-"+eventType, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), eventType, []byte(data))
}

func about(events ...Event) About {
	return About{Events: events, Codon: AboutCodon{ID: "draft", Name: "Draft", Description: "writes", StartTime: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)}, Now: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)}
}

func TestTemplatesAreFilledIn(t *testing.T) {
	t.Parallel()
	two := about(event("tool.result", `{"toolName": "Bash", "isError": true, "n": 2, "list": ["x", "y"], "none": null}`), event("error", `{"message": "m\"<&>"}`))
	for text, want := range map[string]string{
		"plain":                      "plain",
		"<%= it.events.length %> of": "2 of",
		"<%=it.codon.id%>/<%~ it.codon.name %>/<%= it.codon.description %>":               "draft/Draft/writes",
		"<%= it.codon.startTime %> <%= it.world.currentTime %>":                           "2026-01-02T03:00:00.000Z 2026-01-02T03:04:06.000Z",
		"<%= it.events[0].type %> <%= it.events[it.events.length - 0] %>":                 "?",
		"<%= it.events[1].data.message %>":                                                `m"<&>`,
		"<%= it.events.at(-1).type %>":                                                    "error",
		"<%= it.events[0].data.list[1] %> <%= it.events[0].data['toolName'] %>":           "y Bash",
		`<%= it.events[0].data.nothing || "none" %>`:                                      "none",
		`<%= it.events[0].data.none ?? 'null' %>`:                                         "null",
		`<%= it.events[0].data.nothing %>`:                                                "undefined",
		`<%= it.events[0]?.data?.n %>`:                                                    "2",
		`<%= JSON.stringify(it.events[0].data.list) %>`:                                   `["x","y"]`,
		`<%= JSON.stringify(it.events[1].data, null, 2) %>`:                               "{\n  \"message\": \"m\\\"<&>\"\n}",
		`<%= it.events.map(e => e.type).join(", ") %>`:                                    "tool.result, error",
		`<%= it.events.map((e) => JSON.stringify(e.data.n ?? 0)).join("\n") %>`:           "2\n0",
		`<%= it.events.filter(e => e.data.isError === true).length %>`:                    "1",
		`<%= it.events.filter(e => !e.data.isError && e.type != "x").map(e => e.type) %>`: `["error"]`,
		`<%= it.events.slice(-1).length %> <%= it.codon.name.slice(0, 2) %>`:              "1 Dr",
		`<%= (it.events.length > 1) %>`:                                                   "true",
		"a {{ literal }} <%= it.codon.id %>":                                              "a {{ literal }} draft",
		`{{len .events}} {{.codon.name}}`:                                                 "2 Draft",
		`{{range .events}}{{.type}};{{end}}`:                                              "tool.result;error;",
		`{{with index .events 0}}{{.data.toolName}}{{end}}`:                               "Bash",
		`{{json (index .events 0).data.list}} {{join "-" (index .events 0).data.list}}`:   `["x","y"] x-y`,
		`{{if eq (len .events) 2}}two{{else}}other{{end}}`:                                "two",
		`{{"{{"}} {{.world.currentTime}}`:                                                 "{{ 2026-01-02T03:04:06.000Z",
	} {
		if want == "?" {
			if _, err := parseTemplate(text); err == nil {
				t.Errorf("%s: arithmetic is taken", text)
			}
			continue
		}
		tm, err := parseTemplate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := tm.Render(two); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// What is code, or cannot be read, is refused with its place; it never reaches a model as
// text.
func TestCodeInATemplateIsRefusedAtItsPlace(t *testing.T) {
	t.Parallel()
	for text, place := range map[string]string{
		"x\n<% for (const e of it.events) { %>": "<% for",
		"x <%# comment %>":                      "<%#",
		"<%DATA_DIR%>":                          "<%DATA",
		"<%= it.events.forEach(e => 1) %>":      "forEach",
		"<%= process.exit(1) %>":                "process",
		"<%= it.events.length + 1 %>":           "+ 1",
		"<%= it.codon.name":                     "",
		"<%= %>":                                "%>",
		"<%= `${it.codon.id}` %>":               "${it",
		"<%= it.codon.id; x() %>":               "; x",
		"<%= fetch('x') %>":                     "fetch",
		"<%= it.events.map(e => f) %>":          "f)",
		"<%= JSON.parse('x') %>":                "JSON",
		"{{printf \"%99999999d\" 1}}":           "printf",
		"a\n{{template \"x\"}}":                 "\"x",
		"{{define \"x\"}}{{end}}":               "",
		"{{call .x}}":                           "call",
		"a\n{{if}}":                             "{{if}}",
		"{{html .x}}":                           "html",
	} {
		_, err := parseTemplate(text)
		var wrong *TemplateError
		if !errors.As(err, &wrong) || wrong.Message == "" || wrong.Hint == "" {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if place != "" && !strings.HasPrefix(text[min(wrong.Offset, len(text)):], place) {
			t.Errorf("%s: the error is at %d (%q), want %q: %v", text, wrong.Offset, text[min(wrong.Offset, len(text)):], place, err)
		}
	}
}

// Rendering has an end, whatever a template repeats.
func TestARenderingIsBounded(t *testing.T) {
	t.Parallel()
	var many []Event
	for range 2000 {
		many = append(many, event("tool.result", `{"result": "`+strings.Repeat("x", 1000)+`"}`))
	}
	began := time.Now()
	for _, text := range []string{
		"{{range 1000000000000}}{{end}}",
		"{{range .events}}{{range $.events}}{{range $.events}}{{end}}{{end}}{{end}}",
		"{{range .events}}{{json $.events}}{{end}}",
		"<%= it.events.map(e => it.events.map(f => it.events.map(g => g.type))).length %>",
		"<%= it.events.map(e => JSON.stringify(it.events)).length %>",
		strings.Repeat("<%= JSON.stringify(it.events, null, 10) %>", 10),
		"<%= it.events.map(e => it.events.toString()).length %>",
		"<%= it.events.map(e => it.events.map(f => f.data.result.slice(0))).length %>",
		"<%= it.events.map(e => it.events.join(it.events.toString())).length %>",
		strings.Repeat("<%= it.events.at(it.events.toString()) %>", 50_000),
		"{{range .events}}{{$x := or " + strings.Repeat("(eq 1 2) ", 1000) + "}}{{end}}",
	} {
		tm, err := parseTemplate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := tm.Render(about(many...)); err == nil {
			t.Errorf("%s: %d bytes", text, len(got))
		}
	}
	if took := time.Since(began); took > 10*time.Minute {
		t.Errorf("it took %s", took)
	}
	for _, text := range []string{"<%= " + strings.Repeat("(", 100000), "<%= " + strings.Repeat("!", 100000), strings.Repeat("{{if 1}}", 5000) + strings.Repeat("{{end}}", 5000), "<%= it" + strings.Repeat(".events.map(e => it", 5000),
		"<%= it" + strings.Repeat(".a", 1_000_000) + " %>", "<%= 1" + strings.Repeat("||1", 1_000_000) + " %>", "<%= it" + strings.Repeat(".at(0)", 500_000) + " %>",
		strings.Repeat("x", mostText+1), "{{if 1}}" + strings.Repeat("{{else if 1}}", 200_000) + "{{end}}"} {
		if _, err := parseTemplate(text); err == nil {
			t.Errorf("%.20s… was taken", text)
		}
	}
}

func TestWhatIsNotThereIsAnErrorOfTheTrigger(t *testing.T) {
	t.Parallel()
	tm, err := parseTemplate("<%= it.events[0].data.a.b %>")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tm.Render(about(event("x", `{}`))); err == nil || !strings.Contains(err.Error(), "no b of undefined") {
		t.Error(got, err)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"<%= it.events.map(e => e.type).join(',') %>", "{{range .events}}{{.type}}{{end}}", "<%= JSON.stringify(it, null, 2) %>", "<%= it.events[0]?.['a'] || (1 < 2) %>", "{{if eq 1 1}}{{end}}", "<%= it.events.slice(1, 2).filter((x) => !x) %>"} {
		f.Add(seed, `{"a": [1, null, "x"]}`)
	}
	f.Fuzz(func(t *testing.T, text, data string) {
		tm, err := parseTemplate(text)
		var wrong *TemplateError
		switch {
		case err == nil:
			_, _ = tm.Render(about(event("x", data), event("y", "")))
		case !errors.As(err, &wrong) || wrong.Offset < 0 || wrong.Offset > len(text):
			t.Errorf("%q: %#v", text, err)
		}
	})
}
