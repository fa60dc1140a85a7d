// Package archtest proves the floor plan of this module: which package may
// import which, and what only one package may do. It is a test and has no other
// use; every rule carries its reason.
package archtest
