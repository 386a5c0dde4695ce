package format

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan/diagnostic"
)

// The parts of SARIF 2.1.0 that are written.
type (
	log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}
	run struct {
		Tool        tool         `json:"tool"`
		Invocations []invocation `json:"invocations"`
		ColumnKind  string       `json:"columnKind"`
		Results     []result     `json:"results"`
	}
	tool struct {
		Driver driver `json:"driver"`
	}
	driver struct {
		Name    string `json:"name"`
		Version string `json:"version,omitzero"`
		Rules   []rule `json:"rules"`
	}
	rule struct {
		ID      string  `json:"id"`
		Short   text    `json:"shortDescription"`
		Help    text    `json:"help"`
		Default setting `json:"defaultConfiguration"`
	}
	setting struct {
		Level string `json:"level"`
	}
	text struct {
		Text string `json:"text"`
	}
	invocation struct {
		Successful bool `json:"executionSuccessful"`
		ExitCode   int  `json:"exitCode"`
	}
	result struct {
		RuleID    string            `json:"ruleId"`
		RuleIndex int               `json:"ruleIndex"`
		Level     string            `json:"level"`
		Message   text              `json:"message"`
		Locations []location        `json:"locations,omitempty"`
		Prints    map[string]string `json:"partialFingerprints"`
	}
	location struct {
		Physical physical  `json:"physicalLocation"`
		Logical  []logical `json:"logicalLocations,omitempty"`
	}
	physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   region   `json:"region"`
	}
	artifact struct {
		URI string `json:"uri"`
	}
	region struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitzero"`
	}
	logical struct {
		Name string `json:"fullyQualifiedName"` // a JSON pointer
	}
)

// SARIF is a log in the Static Analysis Results Interchange Format, version 2.1.0, with all
// rules; exit is the exit code of the command.
func SARIF(groups []Group, version string, exit int) ([]byte, error) {
	r := run{
		Tool: tool{driver{Name: "hank", Version: version}}, Invocations: []invocation{{true, exit}},
		ColumnKind: "unicodeCodePoints", Results: []result{},
	}
	index := map[string]int{}
	for i, known := range diagnostic.Rules() {
		index[known.ID] = i
		r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, rule{
			known.ID, text{known.Says}, text{known.Says + ". See docs/rules.md, " + known.ID + ", for examples."}, setting{level(known.Severity)},
		})
	}
	for _, g := range groups {
		for _, d := range g.Found {
			at := location{Physical: physical{artifact{uri(d.File)}, region{max(1, d.Line), d.Column}}}
			if d.Pointer != "" {
				at.Logical = []logical{{d.Pointer}}
			}
			where := []location{at}
			if d.InNoFile() {
				where = nil
			}
			sum := sha256.Sum256([]byte(d.Rule + "\n" + plainPath(d.File) + "\n" + d.Pointer + "\n" + d.Message))
			r.Results = append(r.Results, result{
				RuleID: d.Rule, RuleIndex: index[d.Rule], Level: level(d.Severity), Message: text{withHint(d)},
				Locations: where, Prints: map[string]string{"hankDiagnostic/v1": hex.EncodeToString(sum[:])},
			})
		}
	}
	return json.Marshal(log{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []run{r}}, jsontext.WithIndent("  "), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

func level(s diagnostic.Severity) string {
	if s == diagnostic.Info {
		return "note"
	}
	return string(s)
}

// uri names a file: relative to the current directory, or with file: for what is elsewhere.
func uri(file string) string {
	u := url.URL{Path: plainPath(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
		if !strings.HasPrefix(u.Path, "/") { // a drive
			u.Path = "/" + u.Path
		}
	}
	return u.String()
}
