package format

import (
	"encoding/xml"
	"fmt"

	"hank/plan/diagnostic"
)

// The parts of JUnit's reports that are written.
type (
	suites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Suites   []suite  `xml:"testsuite"`
	}
	suite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	testcase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		File    string   `xml:"file,attr,omitempty"`
		Line    int      `xml:"line,attr,omitempty"`
		Failure *failure `xml:"failure,omitempty"`
		Out     string   `xml:"system-out,omitempty"`
	}
	failure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit is a report of tests: a suite for each group, with a failed test for each error,
// and a passed one, with the text as its output, for each warning and info. A group without
// errors has a passed test "valid" besides.
func JUnit(groups []Group) ([]byte, error) {
	all := suites{Name: "hank validate"}
	for _, g := range groups {
		s := suite{Name: plainPath(g.Name)}
		for _, d := range g.Found {
			file := plainPath(d.File)
			one := testcase{Class: file, Name: fmt.Sprintf("%s at %s", d.Rule, file), File: file, Line: d.Line}
			if d.InNoFile() {
				one.File = ""
			}
			if d.Line > 0 {
				one.Name += fmt.Sprintf(":%d:%d", d.Line, d.Column)
			}
			if d.Severity == diagnostic.Error {
				s.Failures++
				one.Failure = &failure{d.Rule, d.Message, d.String()}
			} else {
				one.Out = d.String()
			}
			s.Cases = append(s.Cases, one)
		}
		if s.Failures == 0 {
			s.Cases = append(s.Cases, testcase{Class: s.Name, Name: "valid"})
		}
		s.Tests = len(s.Cases)
		all.Tests, all.Failures = all.Tests+s.Tests, all.Failures+s.Failures
		all.Suites = append(all.Suites, s)
	}
	body, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(body, '\n')...), err
}
