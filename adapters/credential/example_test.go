package credential_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/adapters/credential"
)

func ExampleCommand() {
	c := credential.Command{MintArgv: []string{"/bin/echo", "a-secret-of-this-run"}, RevokeArgv: []string{"/bin/true"}}
	f := credential.For{ID: "signalbox-7-3-1", Repo: "acme/app"}
	m, err := c.Mint(context.Background(), f)
	fmt.Println(len(m.Secret), err)
	fmt.Println(c.Revoke(context.Background(), f, ""))
	// Output:
	// 20 <nil>
	// <nil>
}
