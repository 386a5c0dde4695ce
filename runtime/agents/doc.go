// Package agents knows which agents hank can drive, whether they and the rest of
// what a hank requires are here, which environment they get, and where they may
// write.
//
// A harness drives one kind of agent. Confinement is what the setting sandbox
// comes to for a hank, a place and a machine.
//
// It starts an agent only to ask for its version or its logins, and writes nothing but a
// temporary directory for that.
package agents
