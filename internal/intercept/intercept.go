// Package intercept stands around ports: of each port it has one struct, whose calls all go by a hook.
// A simulator, faults, counters and routes are hooks. What is special to one method needs none: it is
// overridden where the port is embedded.
package intercept

import "context"

// Call is one call of a port.
type Call struct {
	Name string // of the method
	In   []any  // its arguments beside the context
	To   any    // the port that it goes to
	Out  any    // its first result, once it was made; nil = the zero one
}

// Hook stands around each call of a port. It makes the call by next, once, more often or never, and may
// send it to another port before. The caller gets Out and the hook's error.
type Hook func(ctx context.Context, c *Call, next func() error) error

// port is a port with what stands around it.
type port[P any] struct {
	to P
	on Hook
}

func get[P, R any](ctx context.Context, p port[P], name string, f func(P) (R, error), in ...any) (R, error) {
	c := &Call{Name: name, In: in, To: p.to}
	err := p.on(ctx, c, func() (err error) {
		c.Out, err = f(c.To.(P))
		return err
	})
	out, _ := c.Out.(R)
	return out, err
}

func do[P any](ctx context.Context, p port[P], name string, f func(P) error, in ...any) error {
	_, err := get(ctx, p, name, func(to P) (any, error) { return nil, f(to) }, in...)
	return err
}

// The digits are numbers of arguments; f is the method, as an expression.

func get0[P, R any](ctx context.Context, p port[P], name string, f func(P, context.Context) (R, error)) (R, error) {
	return get(ctx, p, name, func(to P) (R, error) { return f(to, ctx) })
}

func get1[P, A, R any](ctx context.Context, p port[P], name string, f func(P, context.Context, A) (R, error), a A) (R, error) {
	return get(ctx, p, name, func(to P) (R, error) { return f(to, ctx, a) }, a)
}

func get2[P, A, B, R any](ctx context.Context, p port[P], name string, f func(P, context.Context, A, B) (R, error), a A, b B) (R, error) {
	return get(ctx, p, name, func(to P) (R, error) { return f(to, ctx, a, b) }, a, b)
}

func get3[P, A, B, C, R any](
	ctx context.Context, p port[P], name string, f func(P, context.Context, A, B, C) (R, error), a A, b B, c C,
) (R, error) {
	return get(ctx, p, name, func(to P) (R, error) { return f(to, ctx, a, b, c) }, a, b, c)
}

func do1[P, A any](ctx context.Context, p port[P], name string, f func(P, context.Context, A) error, a A) error {
	return do(ctx, p, name, func(to P) error { return f(to, ctx, a) }, a)
}

func do2[P, A, B any](ctx context.Context, p port[P], name string, f func(P, context.Context, A, B) error, a A, b B) error {
	return do(ctx, p, name, func(to P) error { return f(to, ctx, a, b) }, a, b)
}

// doAll hands in a list; with nothing in it there is no call.
func doAll[P, A any](ctx context.Context, p port[P], name string, f func(P, context.Context, ...A) error, list []A) error {
	if len(list) == 0 {
		return nil
	}
	return do(ctx, p, name, func(to P) error { return f(to, ctx, list...) }, list)
}
