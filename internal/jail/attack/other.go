//go:build !linux

package attack

import "errors"

// All are the attacks; the jail, and so what they try, is of Linux.
func All() []Attack { return nil }

// Build makes a scene.
func Build(string) (Scene, func(), error) {
	return Scene{}, func() {}, errors.New("the attacks need Linux")
}
