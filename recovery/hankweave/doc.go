// Package hankweave reads the event journal that the compatible system has left in a
// folder, so that its executions can be adopted. It writes nothing.
package hankweave
