// Package hankweave reads the event journal that the compatible system has left in a
// directory, so that its executions can be adopted. It writes nothing.
package hankweave
