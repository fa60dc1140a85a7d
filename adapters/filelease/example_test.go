package filelease_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/filelease"
)

func Example() {
	dir, err := os.MkdirTemp("", "leases")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	l, err := filelease.New(dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	held, err := l.Acquire(ctx, "acme/app", "task/7", 30*time.Minute)
	fmt.Println(held.Holder, held.Epoch, err)
	fmt.Println(l.Release(ctx, held))
	// Output:
	// task/7 1 <nil>
	// <nil>
}
