// Package conformance compares the service with its specification, in tests alone: each row is a sentence
// of it, with the tests that drive that from outside. make conformance runs exactly those tests and
// prints the rows with what came of them.
package conformance
