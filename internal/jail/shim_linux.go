package jail

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// RunShim is the main function of a shim of that name; it returns the exit code. It reads its order, which has an Order, from the
// first line of standard input, and has it carried out with what comes behind that; unread is the code when there is none.
func RunShim[T interface{ order() Order }](name string, unread int, carryOut func(in io.Reader, own T) (int, error)) int {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	var own T
	if err == nil {
		err = json.Unmarshal(line, &own)
	}
	o := own.order()
	if o.Stage != nil { // this is the process that another shim has started to enter the jail
		return o.Stage.Run()
	}
	if err != nil || len(o.Argv) == 0 {
		fmt.Fprintln(os.Stderr, name, "is started by the service only; it reads its order from standard input")
		return unread
	}
	code, err := carryOut(in, own)
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
	}
	return code
}

func (o Order) order() Order { return o }

// Start starts the program at a path with the order's arguments, in its jail.
func (o Order) Start(path, stdin string, attr *os.ProcAttr) (*os.Process, error) {
	if o.Jail == nil {
		return os.StartProcess(path, o.Argv, attr)
	}
	return Start(Stage{Jail: *o.Jail, Name: o.Name, Path: path, Argv: o.Argv, Stdin: stdin}, attr)
}

// Clear ends what is left of it.
func (o Order) Clear(ctx context.Context) error {
	if o.Jail == nil {
		return nil
	}
	return Clear(ctx, *o.Jail, o.Name)
}
