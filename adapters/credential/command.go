package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Command mints by a program of the operator, which prints the secret: as its only line, or as
// JSON, {"secret": "…", "expires_at": "2026-01-02T15:04:05Z"}. It runs as the service, outside of
// any jail, with PATH, HOME and what it is minted for in its environment.
type Command struct {
	MintArgv   []string
	RevokeArgv []string // ends the credential SIGNALBOX_CREDENTIAL_ID; exit 0 also when there is none
}

// saidMax is how much of a program's errors is repeated, in bytes.
const saidMax = 300

// Mint implements Minter.
func (c Command) Mint(ctx context.Context, f For) (minted, error) {
	out, err := c.run(ctx, c.MintArgv, f)
	text := strings.TrimSpace(string(out))
	var printed struct {
		Secret  string    `json:"secret"`
		Expires time.Time `json:"expires_at"`
	}
	if !strings.HasPrefix(text, "{") {
		printed.Secret = text
	} else if wrong := json.Unmarshal([]byte(text), &printed); wrong != nil && err == nil {
		// Its words may have the secret.
		err = fmt.Errorf(`%s: want the secret alone, or {"secret": "…", "expires_at": "2026-01-02T15:04:05Z"}`, c.MintArgv[0])
	}
	return minted{Secret: printed.Secret, Expires: printed.Expires}, err
}

// Revoke implements Minter.
func (c Command) Revoke(ctx context.Context, f For, _ string) error {
	_, err := c.run(ctx, c.RevokeArgv, f)
	return err
}

func (c Command) run(ctx context.Context, argv []string, f For) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		"SIGNALBOX_CREDENTIAL_ID=" + f.ID, "SIGNALBOX_TASK_ID=" + strconv.FormatInt(f.TaskID, 10),
		"SIGNALBOX_WORK_ITEM=" + f.WorkItem, "SIGNALBOX_REPO=" + f.Repo,
		"SIGNALBOX_ROLE=" + string(f.Role), "SIGNALBOX_STAGE=" + string(f.Stage),
		"SIGNALBOX_RUN=" + strconv.FormatInt(f.Run, 10), "SIGNALBOX_ATTEMPT=" + strconv.Itoa(f.Attempt),
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{&out, 2 * secretMax}, &limited{&said, saidMax}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return out.Bytes(), fmt.Errorf("%s: %w: %s", argv[0], err, strings.TrimSpace(said.String()))
	}
	return out.Bytes(), nil
}

// limited takes so many bytes, and drops the rest.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	n := min(len(b), l.left)
	l.left -= n
	if _, err := l.to.Write(b[:n]); err != nil {
		return 0, err
	}
	return len(b), nil
}
