package format_test

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"hank/plan/diagnostic"
	"hank/plan/diagnostic/format"
	"hank/plan/jsonshape"
)

// found are diagnostics at places of a file, one of each severity.
func found(file, text string, places ...string) []diagnostic.Diagnostic {
	var out diagnostic.Reporter
	doc := &jsonshape.Document{File: file, Data: []byte(text)}
	rules := []string{"bad-value", "budget-zero", "no-effect"}
	for i, place := range places {
		out.At(doc, strings.Index(text, place), "/hank/0/env", rules[i%3], "100%, a:\n\x01<b>", "try, this")
	}
	return out.List
}

func TestTheMarkIsBelowThePlace(t *testing.T) {
	t.Parallel()
	d := found("dir/hank.json", "{\n\t\"ä世\": \"x\"}", `"x"`)[0]
	head, body := format.Text(d)
	if head != "dir/hank.json:2:8: error [bad-value] env: 100%, a:\n\x01<b>" {
		t.Errorf("head: %q", head)
	}
	if want := "    2 |  \"ä世\": \"x\"}\n      |         ^\n    hint: try, this\n"; body != want {
		t.Errorf("body:\n%s\nwant:\n%s", body, want)
	}
	secret := "sk-" + "ant-api03-abCD12efGH34ijKL56mnOP78"
	if _, body := format.Text(found("f", `{"k": "`+secret+`"}`, `"sk`)[0]); strings.Contains(body, "abCD12") {
		t.Errorf("a key is shown:\n%s", body)
	}
}

func TestAnnotationsOfGitHub(t *testing.T) {
	t.Parallel()
	ds := found("./a,b:c.json", "1\n2\n3", "1", "2", "3")
	for i, want := range []string{
		"::error file=a%2Cb%3Ac.json,line=1,col=1,title=bad-value::env: 100%25, a:%0A\x01<b>%0Atry, this",
		"::warning file=a%2Cb%3Ac.json,line=2,col=1,title=budget-zero::env: 100%25, a:%0A\x01<b>%0Atry, this",
		"::notice file=a%2Cb%3Ac.json,line=3,col=1,title=no-effect::env: 100%25, a:%0A\x01<b>%0Atry, this",
	} {
		if got := format.GitHub(ds[i]); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if got := format.GitHub(diagnostic.Diagnostic{Severity: diagnostic.Error, Rule: "missing-file", File: "x", Message: "m"}); got != "::error file=x,title=missing-file::m" {
		t.Errorf("without a line: %q", got)
	}
}

// What the standard and GitHub require of a log.
func TestSARIF(t *testing.T) {
	t.Parallel()
	ds := append(found("./a b/hank.json", "1\n2\n3", "1", "2", "3"), diagnostic.Diagnostic{Severity: diagnostic.Error, Rule: "missing-file", File: "/x/hank.json", Message: "m"})
	text, err := format.SARIF([]format.Group{{Name: "a", Found: ds}}, "1.2.3", 3)
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Schema  string `json:"$schema"`
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct {
						ID                     string
						ShortDescription, Help struct{ Text string }
						DefaultConfiguration   struct{ Level string }
					}
				}
			}
			ColumnKind string
			Results    []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn int }
					}
				}
				PartialFingerprints map[string]string
			}
		}
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(log.Schema, "/sarif-2.1.0.json") || log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("%.300s", text)
	}
	run := log.Runs[0]
	if run.Tool.Driver.Name != "hank" || run.Tool.Driver.Version != "1.2.3" || run.ColumnKind != "unicodeCodePoints" || len(run.Results) != len(ds) {
		t.Errorf("%+v", run)
	}
	levels := map[diagnostic.Severity]string{diagnostic.Error: "error", diagnostic.Warning: "warning", diagnostic.Info: "note"}
	for _, r := range run.Tool.Driver.Rules {
		if r.DefaultConfiguration.Level != levels[diagnostic.Of(r.ID).Severity] || r.ShortDescription.Text == "" || r.Help.Text == "" {
			t.Errorf("%+v", r)
		}
	}
	seen := map[string]bool{}
	for i, r := range run.Results {
		at, uri := r.Locations[0].PhysicalLocation, "a%20b/hank.json"
		if i == 3 {
			uri = "file:///x/hank.json"
		}
		if r.RuleID != ds[i].Rule || run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.Level != levels[ds[i].Severity] || at.ArtifactLocation.URI != uri || at.Region.StartLine != max(1, ds[i].Line) || !strings.HasPrefix(r.Message.Text, ds[i].Message) {
			t.Errorf("%+v", r)
		}
		seen[r.PartialFingerprints["hankDiagnostic/v1"]] = true
	}
	if len(seen) != len(ds) {
		t.Error("two results have the same fingerprint")
	}
	if text, err = format.SARIF(nil, "", 0); err != nil || !strings.Contains(string(text), `"results": []`) {
		t.Errorf("%v: no results must be an empty list", err)
	}
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	text, err := format.JUnit([]format.Group{{Name: "./a", Found: found("./a/hank.json", "1\n2\n3", "1", "2", "3")}, {Name: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Tests int    `xml:"tests,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Line    int    `xml:"line,attr"`
				Failure *struct {
					Type    string `xml:"type,attr"`
					Message string `xml:"message,attr"`
				} `xml:"failure"`
				Out string `xml:"system-out"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if report.Tests != 4 || report.Failures != 1 || len(report.Suites) != 2 || report.Suites[0].Name != "a" || report.Suites[0].Tests != 3 {
		t.Fatalf("%+v", report)
	}
	cases := report.Suites[0].Cases
	if f := cases[0].Failure; f == nil || f.Type != "bad-value" || cases[0].Line != 1 || !strings.HasSuffix(f.Message, "<b>") {
		t.Errorf("%+v", cases[0])
	}
	if cases[1].Failure != nil || !strings.Contains(cases[1].Out, "warning [budget-zero]") || report.Suites[1].Cases[0].Name != "valid" {
		t.Errorf("%+v %+v", cases[1], report.Suites[1])
	}
}
