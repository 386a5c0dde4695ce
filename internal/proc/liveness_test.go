package proc

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// fake is a machine of the test's making.
type fake struct {
	here machine
	seen observation
	err  error
}

func (f fake) machine() machine                 { return f.here }
func (f fake) observe(int) (observation, error) { return f.seen, f.err }

var (
	home     = machine{host: "alpha", machineID: "m1", bootID: "boot1", pidNamespace: "ns1"}
	recorded = home.identity(42, 7000)
	itself   = observation{running, 7000}
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	on := func(edit func(*machine)) machine { m := home; edit(&m); return m }
	with := func(edit func(*Identity)) Identity { id := recorded; edit(&id); return id }
	denied := errors.New("permission denied")
	for _, c := range []struct {
		name string
		id   Identity
		src  fake
		want Liveness
		why  string
	}{
		{"live", recorded, fake{home, itself, nil}, Alive, "is running"},
		{"dead", recorded, fake{home, observation{state: gone}, nil}, Dead, "there is no process 42"},
		{"zombie", recorded, fake{home, observation{zombie, 7000}, nil}, Dead, "process 42 has ended"},
		{"stopped", recorded, fake{home, observation{stopped, 7000}, nil}, Alive, "stopped, not ended"},
		{"pid reused", recorded, fake{home, observation{running, 7001}, nil}, Dead, "belongs to another process"},
		{"pid reused by an older start time", recorded, fake{home, observation{running, 1}, nil}, Dead, "belongs to another process"},
		{"may not look", recorded, fake{home, observation{state: unseen}, nil}, Unknown, "start time cannot be read"},
		{"looking fails", recorded, fake{home, observation{}, denied}, Unknown, "permission denied"},
		{"host renamed, live", recorded, fake{on(func(m *machine) { m.host = "beta" }), itself, nil}, Alive, "running"},
		{"host renamed, dead", recorded, fake{on(func(m *machine) { m.host = "beta" }), observation{state: gone}, nil}, Dead, "no process"},
		{"restarted", recorded, fake{on(func(m *machine) { m.bootID = "boot2" }), itself, nil}, Dead, "restarted since"},
		{"restarted and renamed", recorded, fake{on(func(m *machine) { m.bootID, m.host = "boot2", "beta" }), itself, nil}, Dead, "restarted since"},
		{"restarted, no machine id", with(func(id *Identity) { id.Machine = "" }), fake{on(func(m *machine) { m.bootID, m.machineID = "boot2", "" }), itself, nil}, Dead, "restarted since"},
		{"other machine", recorded, fake{machine{"beta", "m2", "boot2", "ns1"}, observation{state: gone}, nil}, Unknown, "another machine"},
		{"other machine of the same name", recorded, fake{on(func(m *machine) { m.machineID, m.bootID = "m2", "boot2" }), observation{state: gone}, nil}, Unknown, "another machine"},
		{"two machines that nobody has named", Identity{Host: "localhost", BootID: "boot1", PID: 42, StartTicks: 7000}, fake{machine{host: "localhost", bootID: "boot2"}, observation{state: gone}, nil}, Unknown, "another machine"},
		{"container restarted", recorded, fake{on(func(m *machine) { m.pidNamespace = "ns2" }), observation{state: gone}, nil}, Unknown, "PID namespace"},
		{"container restarted, same namespace number", recorded, fake{home, observation{running, 9000}, nil}, Dead, "another process"},
		{"pid only, gone", Identity{PID: 42}, fake{home, observation{state: gone}, nil}, Dead, "no process"},
		{"pid only, exists", Identity{PID: 42}, fake{home, itself, nil}, Unknown, "start time was not recorded"},
		{"pid only, of another host", Identity{Host: "beta", PID: 42}, fake{home, observation{state: gone}, nil}, Unknown, `host "beta"`},
		{"pid only, of this host", Identity{Host: "alpha", PID: 42}, fake{home, observation{state: gone}, nil}, Dead, "no process"},
		{"nothing recorded", Identity{}, fake{home, observation{state: gone}, nil}, Unknown, "no process id"},
		{"negative pid", Identity{PID: -1, BootID: "boot1"}, fake{home, observation{state: gone}, nil}, Unknown, "no process id"},
		{"boot id unreadable here", recorded, fake{on(func(m *machine) { m.bootID = "" }), itself, nil}, Alive, "running"},
		{"boot id unreadable here, renamed", recorded, fake{on(func(m *machine) { m.bootID, m.host = "", "beta" }), observation{state: gone}, nil}, Unknown, "host"},
	} {
		got, why := judge(c.id, c.src)
		if got != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %v (%s), want %v (%s)", c.name, got, why, c.want, c.why)
		}
		if strings.ContainsAny(why, "\n.") || why == "" {
			t.Errorf("%s: %q is not one clause", c.name, why)
		}
	}
}

// A dead verdict needs a proof, whatever the record and the machine say; the
// verdict that restarts a run must not be guessed.
func TestDeadIsOnlyWhatIsProven(t *testing.T) {
	t.Parallel()
	name := rapid.SampledFrom([]string{"", "a", "b", "localhost"})
	rapid.Check(t, func(t *rapid.T) {
		id := Identity{
			Host: name.Draw(t, "host"), Machine: name.Draw(t, "machine"), BootID: name.Draw(t, "boot"),
			PIDNamespace: name.Draw(t, "ns"), PID: rapid.IntRange(-1, 2).Draw(t, "pid"),
			StartTicks: rapid.Uint64Range(0, 2).Draw(t, "ticks"),
		}
		src := fake{
			here: machine{name.Draw(t, "host here"), name.Draw(t, "machine here"), name.Draw(t, "boot here"), name.Draw(t, "ns here")},
			seen: observation{lifeState(rapid.IntRange(int(unseen), int(stopped)).Draw(t, "state")), rapid.Uint64Range(0, 2).Draw(t, "ticks seen")},
		}
		if rapid.Bool().Draw(t, "fails") {
			src.err = errors.New("cannot look")
		}
		sameBoot := id.BootID != "" && id.BootID == src.here.bootID
		otherBoot := id.BootID != "" && src.here.bootID != "" && !sameBoot
		noBoot := !sameBoot && !otherBoot
		rightPlace := sameBoot && (id.PIDNamespace == src.here.pidNamespace || id.PIDNamespace == "" || src.here.pidNamespace == "") ||
			noBoot && (id.Host == "" || id.Host == src.here.host)
		other := id.StartTicks != 0 && src.seen.ticks != 0 && id.StartTicks != src.seen.ticks
		ended := src.err == nil && (src.seen.state == gone || src.seen.state == zombie || other)
		machinesKnown := id.Machine != "" && src.here.machineID != ""
		restarted := otherBoot && (machinesKnown && id.Machine == src.here.machineID ||
			!machinesKnown && id.Host != "" && id.Host != "localhost" && id.Host == src.here.host)

		switch verdict, why := judge(id, src); verdict {
		case Dead:
			if id.PID <= 0 || !(rightPlace && ended) && !restarted {
				t.Fatalf("dead without proof: %+v, %+v: %s", id, src, why)
			}
		case Alive:
			if !rightPlace || ended || src.seen.state == unseen && src.seen.ticks == 0 || id.StartTicks == 0 || id.StartTicks != src.seen.ticks {
				t.Fatalf("alive without proof: %+v, %+v: %s", id, src, why)
			}
		case Unknown:
			if id.PID > 0 && (restarted || rightPlace && ended) {
				t.Fatalf("unknown in spite of proof: %+v, %+v: %s", id, src, why)
			}
		}
	})
}

func TestRecordKeepsItsFieldNames(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(recorded)
	want := `{"host":"alpha","machine":"m1","bootId":"boot1","pidNamespace":"ns1","pid":42,"startTicks":7000}`
	if err != nil || string(b) != want {
		t.Errorf("got %s, %v", b, err)
	}
	var back Identity
	if err := json.Unmarshal(b, &back); err != nil || back != recorded {
		t.Errorf("came back as %+v, %v", back, err)
	}
	b, _ = json.Marshal(Identity{PID: 1})
	if string(b) != `{"host":"","bootId":"","pid":1}` {
		t.Errorf("got %s", b)
	}
}

func TestZeroVerdictIsTheSafeOne(t *testing.T) {
	t.Parallel()
	var l Liveness
	if l != Unknown || l.String() != "unknown" || Alive.String() != "alive" || Dead.String() != "dead" {
		t.Errorf("zero is %v", l)
	}
}
