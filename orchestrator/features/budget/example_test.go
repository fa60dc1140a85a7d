package budget_test

import (
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
)

func Example() {
	caps := budget.Caps{Task: 5_000_000, Run: 1_000_000}
	x := budget.Case{Name: "GPX-42 (task 3)", Repo: "acme/app", At: time.Now(), Task: budget.Account{Spent: 4_200_000}}
	fmt.Println(caps.Judge(x).Reason())
	x.Task.Spent = 4_000_000
	fmt.Println(len(caps.Judge(x)))
	// Output:
	// GPX-42 (task 3) has cost 4.20 USD, and the next run is taken to cost 1.00 USD: together more than the cap of 5.00 USD for a task
	// 0
}
