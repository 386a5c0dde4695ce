// Package testkit has what the tests of several packages of checkpoint use: stock git,
// names that git refuses, and files that are no regular ones. No product code imports it.
package testkit
