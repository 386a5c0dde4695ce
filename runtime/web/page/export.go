package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strings"

	"hank/state"
)

// Export writes the pages of an execution as one HTML file without a script: the run, each
// codon with its newest transcript and what it has changed, the checkpoints, costs and
// events, as far as pages show them at once.
func (p *Pages) Export(ctx context.Context, out io.Writer, root string) error {
	e, err := p.read(ctx, root)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	one := func(id, rest string, q url.Values) error {
		part := *e
		part.Static = true
		name, data, err := part.page(ctx, rest, q)
		if err != nil {
			return err
		}
		fmt.Fprintf(&body, "<article id=\"%s\">", template.HTMLEscapeString(id))
		if err := p.printer.print(&body, name, data); err != nil {
			return err
		}
		body.WriteString("</article>\n")
		return nil
	}
	if err := one("", "", nil); err != nil {
		return err
	}
	seen := map[state.CodonID]bool{}
	for _, a := range e.listed() {
		base, _, inLoop := strings.Cut(string(a.CodonID), "#")
		ids := []string{string(a.CodonID)}
		if c := a.LoopContext; inLoop && c != nil {
			base = string(c.LoopID)
			ids = []string{base, string(a.CodonID)}
		}
		for _, id := range ids {
			if seen[state.CodonID(id)] {
				continue
			}
			seen[state.CodonID(id)] = true
			if err := one("codon-"+id, "codon", url.Values{"id": {id}}); err != nil {
				return err
			}
		}
	}
	for _, rest := range []string{"gate", "checkpoints", "money", "events"} {
		if err := one(rest, rest, nil); err != nil {
			return err
		}
	}
	style, _, _ := Asset("page.css")
	sum := sha256.Sum256(style)
	_, err = fmt.Fprintf(out, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-%s'">
<meta name="referrer" content="no-referrer">
<title>%s · hank</title>
<style>%s</style>
</head>
<body>
<main id="page">
%s</main>
</body>
</html>
`, base64.StdEncoding.EncodeToString(sum[:]), template.HTMLEscapeString(p.printer.text(e.Status.Name)), style, body.Bytes())
	return err
}
