package gates_test

import (
	"context"
	"fmt"
	"os"

	"github.com/signalbox-dev/signalbox/gates"
)

// A gate of one's own, judged beside another.
func Example() {
	small := gates.Func("small", func(_ context.Context, s gates.Facts) gates.Verdict {
		if len(s.Task.Title) > 20 {
			return gates.Redf("the title is too long to be one task")
		}
		return gates.Greenf("small enough").With(gates.Evidence{Kind: "limit", Name: "title", OK: true})
	})
	named := gates.Func("named", func(_ context.Context, s gates.Facts) gates.Verdict {
		return gates.Greenf("the repository is %s", s.Task.Repo)
	})
	r, err := gates.NewRegistry(small, named)
	if err != nil {
		fmt.Println(err)
		return
	}
	v := r.Judge(context.Background(), gates.Facts{Task: gates.Task{Title: "Cache tiles", Repo: "acme/app"}}, r.Names()...)
	fmt.Println(v)
	_ = gates.Print(os.Stdout, v)
	// Output:
	// all green: all 2 gates are green
	// green all: all 2 gates are green
	//   green small: small enough
	//         + limit title
	//   green named: the repository is acme/app
}
