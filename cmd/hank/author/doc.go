// Package author has the commands for somebody who writes a hank: init, plan, match
// and models.
//
// Each is built like the commands of package main: flags in, text or JSON out.
package author
