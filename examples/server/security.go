package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/signalbox-dev/signalbox/internal/app"
)

type securityCmd struct {
	output
}

// Run makes the attacks, on a process that hides its secrets as the server does. It fails
// when one has succeeded.
func (c securityCmd) Run(s *streams) error {
	if err := s.hide(); err != nil {
		return err
	}
	settings, err := load()
	if err != nil {
		return err
	}
	report, err := app.Security(context.Background(), settings, itself())
	if err != nil {
		return err
	}
	err = c.print(s.out, report, report.Write)
	if report.Succeeded > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d attacks succeeded, or nothing would stop them", report.Succeeded, len(report.Attacks)))
	}
	return err
}

type attackCmd struct {
	Name string `arg:""`
}

// Run makes one attack; it does not return.
func (c attackCmd) Run(s *streams) error {
	os.Exit(app.MakeAttack(c.Name, s.out))
	return nil
}
