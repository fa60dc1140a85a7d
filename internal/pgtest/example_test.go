package pgtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

func Example() {
	test := func(t *testing.T) {
		url := pgtest.Open(t)
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
	}
	fmt.Println(testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "TestX", F: test}}))
	// Output: true
}
