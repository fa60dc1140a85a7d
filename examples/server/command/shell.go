package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completion are the scripts that complete a command line in a shell: each calls
// the hidden command complete with the words before the one that is typed.
func completion(shell string) string {
	switch shell {
	case "bash":
		return `_signalbox() {
  local words="$(signalbox complete -- "${COMP_WORDS[@]:1:COMP_CWORD-1}")"
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _signalbox signalbox
`
	case "zsh":
		return `#compdef signalbox
_signalbox() { compadd -- $(signalbox complete -- ${words[2,CURRENT-1]}) || _files }
compdef _signalbox signalbox
`
	}
	return "complete -c signalbox -a '(signalbox complete -- (commandline -opc)[2..])'\n"
}

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints a shell's script.
func (c completionCmd) Run(s *streams) error {
	_, err := io.WriteString(s.out, completion(c.Shell))
	return err
}

type completeCmd struct {
	Words []string `arg:"" optional:""`
}

// Run prints what may come behind the words of a command line, one in each line.
func (c completeCmd) Run(s *streams, k *kong.Kong) error {
	at := k.Model.Node
	for _, word := range c.Words {
		i := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == word })
		if i >= 0 {
			at = at.Children[i]
		}
	}
	for _, n := range commands(at) {
		fmt.Fprintln(s.out, n.Name)
	}
	for _, group := range at.AllFlags(true) {
		for _, f := range group {
			fmt.Fprintln(s.out, "--"+f.Name)
		}
	}
	return nil
}

// commands are those that help shows below a node.
func commands(at *kong.Node) (out []*kong.Node) {
	for _, n := range at.Children {
		if !n.Hidden {
			out = append(out, n)
		}
	}
	return out
}

type manCmd struct{}

// Run prints the manual page, made from the same commands as help is.
func (manCmd) Run(s *streams, k *kong.Kong) error {
	text := strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.").Replace
	fmt.Fprintf(s.out, ".TH SIGNALBOX 1\n.SH NAME\nsignalbox \\- %s\n", text(k.Model.Help))
	fmt.Fprint(s.out, ".SH SYNOPSIS\n.B signalbox\n.I command\n[\\fIflags\\fR]\n.SH COMMANDS\n")
	var walk func(at *kong.Node)
	walk = func(at *kong.Node) {
		for _, n := range commands(at) {
			fmt.Fprintf(s.out, ".SS %s\n%s\n", text(n.Path()+arguments(n)), text(n.Help))
			for _, f := range n.Flags {
				if !f.Hidden && f.Name != "help" {
					fmt.Fprintf(s.out, ".TP\n.B %s\n%s\n", text("--"+f.Name), text(f.Help))
				}
			}
			walk(n)
		}
	}
	walk(k.Model.Node)
	fmt.Fprintf(s.out, ".SH ENVIRONMENT\nEvery setting is a variable; %s lists them. "+
		"Commands that call a server call that of --server or %s, and send the token of %s.\n",
		text("signalbox config"), serverVariable, tokenVariable)
	_, err := fmt.Fprintf(s.out, ".SH EXIT STATUS\n%s\n", text(exits))
	return err
}

// arguments are a command's positional ones, as help shows them.
func arguments(n *kong.Node) string {
	var b strings.Builder
	for _, a := range n.Positional {
		b.WriteString(" " + a.Summary())
	}
	return b.String()
}
