package jsonshape_test

import (
	"fmt"

	"hank/plan/jsonshape"
)

// Every difference is reported once, at its place; what is left can be decoded.
func ExampleChecker_Check() {
	server := jsonshape.Object("server", "a server",
		jsonshape.Required("host", jsonshape.Filled(), "name or address"),
		jsonshape.Optional("port", jsonshape.Whole(1, 65535), "default 443"),
		jsonshape.Optional("protocol", jsonshape.Word("http", "https"), "default https"),
	)
	report := func(p jsonshape.Problem) {
		line, column := p.Doc.Position(p.Offset)
		fmt.Printf("%d:%d %s [%s] %s\n", line, column, p.Pointer, p.Rule, p.Hint)
	}
	doc := jsonshape.Read("server.json", []byte(`{
  "host": "example.org",
  "prot": 443,
  "protocol": "htps",
  "port": "443"
}`), report)
	check := jsonshape.Checker{Report: report}
	check.Check(doc, server)
	fmt.Println("sound:", doc.Sound())
	// Output:
	// 3:3 /prot [unknown-field] did you mean port?
	// 4:15 /protocol [bad-value] did you mean "https"?
	// 5:11 /port [wrong-type] write the number without quotes
	// sound: {"host":"example.org"}
}

// The same table is the JSON Schema that editors use.
func ExampleSchema() {
	s := jsonshape.Object("server", "a server", jsonshape.Required("port", jsonshape.Whole(1, 65535), "where it listens"))
	fmt.Printf("%s", jsonshape.Schema(s, "urn:server", "server.json", "A server."))
	// Output:
	// {
	//   "$schema": "https://json-schema.org/draft/2020-12/schema",
	//   "$id": "urn:server",
	//   "title": "server.json",
	//   "description": "A server.",
	//   "type": "object",
	//   "properties": {
	//     "port": {
	//       "description": "where it listens",
	//       "type": "integer",
	//       "minimum": 1,
	//       "maximum": 65535
	//     }
	//   },
	//   "required": [
	//     "port"
	//   ],
	//   "additionalProperties": false,
	//   "$defs": {}
	// }
}
