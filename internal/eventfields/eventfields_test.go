package eventfields

import "testing"

// The table is read as it is written.
func TestTheTableIsRead(t *testing.T) {
	t.Parallel()
	counts := map[Category]int{}
	for _, e := range All() {
		counts[e.Category]++
		if Of(e.Type) == nil || len(e.Fields) == 0 {
			t.Errorf("%s has no fields", e.Type)
		}
	}
	for category, want := range map[Category]int{Server: 20, Agent: 7, Sentinel: 5, Connection: 4} {
		if counts[category] != want {
			t.Errorf("%d events of the category %s, want %d", counts[category], category, want)
		}
	}
	e := Of("rollback.rigCleanup")
	if got := e.Fields[5]; got.Name != "failedCleanups" || !got.Optional || !got.List || len(got.Fields) != 2 || got.Fields[1].Name != "error" {
		t.Errorf("failedCleanups is read as %+v", got)
	}
	if got := e.Fields[3]; got.Optional || got.List || len(got.Values) != 4 || got.Values[3] != "partial" {
		t.Errorf("status is read as %+v", got)
	}
	if got := e.Fields[6]; got.Name != "error" || !got.Optional {
		t.Errorf("what follows an object is read as %+v", got)
	}
	if Of("no.such") != nil {
		t.Error("there is a type that is not in the table")
	}
}
