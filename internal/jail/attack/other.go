//go:build !linux

package attack

import "errors"

// All are the attacks; the jail, and so what they try, is of Linux.
func All() []Attack { return nil }

// OnEgress are those on a way out by a proxy.
func OnEgress() []Attack { return nil }

// Honest returns what has to succeed there.
func Honest() Attack { return Attack{} }

// Build makes a scene.
func Build(string) (Scene, func(), error) {
	return Scene{}, func() {}, errors.New("the attacks need Linux")
}
