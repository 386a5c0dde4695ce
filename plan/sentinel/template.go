package sentinel

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Template is a prompt with places. A text with <% is in the published form, any other
// one in that of Go's text/template.
type Template struct {
	published []segment
	own       *ownTemplate
	text      string // where there is no place
}

// parseTemplate reads a template. The error is a *TemplateError.
func parseTemplate(text string) (*Template, error) {
	switch {
	case len(text) > mostText:
		return nil, &TemplateError{mostText, fmt.Sprintf("the prompt has more than %d bytes", mostText), "shorten it"}
	case strings.Contains(text, "<%"):
		segments, err := parsePublished(text)
		if err != nil {
			return nil, err
		}
		return &Template{published: segments}, nil
	case strings.Contains(text, "{{"):
		own, err := parseOwn(text)
		if err != nil {
			return nil, err
		}
		return &Template{own: own}, nil
	}
	return &Template{text: text}, nil
}

// About is what the places of a template can name.
type About struct {
	Events []Event
	Codon  AboutCodon
	Now    time.Time // when the batch was complete
}

// AboutCodon is the codon that a sentinel observes.
type AboutCodon struct {
	ID, Name, Description string
	StartTime             time.Time
}

// value is it, of the published form, and the dot of ours.
func (a About) value() map[string]any {
	events := make([]any, len(a.Events))
	for i, e := range a.Events {
		events[i] = e.value()
	}
	return map[string]any{
		"events": events,
		"codon":  map[string]any{"id": a.Codon.ID, "name": a.Codon.Name, "description": a.Codon.Description, "startTime": stamp(a.Codon.StartTime)},
		"world":  map[string]any{"currentTime": stamp(a.Now)},
	}
}

// Render fills the places in.
func (t *Template) Render(about About) (string, error) {
	if t.published == nil && t.own == nil {
		return t.text, nil
	}
	w := &work{until: time.Now().Add(mostTime)}
	if t.own != nil {
		return t.own.render(about.value(), w)
	}
	it := about.value()
	var b strings.Builder
	for _, s := range t.published {
		b.WriteString(s.text)
		if s.expr != nil {
			v, err := s.expr.eval(scope{"it": it}, w)
			if err = errors.Join(err, w.step()); err != nil {
				return "", err
			}
			b.WriteString(display(v))
		}
		if b.Len() > mostText {
			return "", errTooLong
		}
	}
	return b.String(), nil
}
