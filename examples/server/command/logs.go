package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

type logsCmd struct {
	Task    string `arg:"" help:"Task id, or work item id such as GPX-42."`
	Follow  bool   `short:"f" help:"Go on until the run ends."`
	Number  int64  `name:"run" help:"The number of a run; default: the newest."`
	Attempt int    `help:"An attempt of the run; default: the newest."`
	printer
}

// streamBack is how long a stream that was cut off is away.
const streamBack = time.Second

// Run prints the steps of a run; as JSON, an object in each line, that of the end last.
func (c logsCmd) Run(s *streams) error {
	task, err := c.find(c.Task)
	if err != nil {
		return err
	}
	if c.Number == 0 {
		var k web.TaskDetail
		if err := c.get(fmt.Sprintf("/tasks/%d", task), &k); err != nil {
			return err
		}
		if c.Number = k.Run; c.Number == 0 {
			return orMissing(false, nil, "no agent has worked for task %d yet", task)
		}
	}
	query := url.Values{"follow": {strconv.FormatBool(c.Follow)}}
	if c.Attempt != 0 {
		query.Set("attempt", strconv.Itoa(c.Attempt))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	path := fmt.Sprintf("/tasks/%d/runs/%d/events?%s", task, c.Number, query.Encode())
	for last := "0"; ; time.Sleep(streamBack) {
		resp, err := c.open(ctx, http.MethodGet, path, nil, "Last-Event-ID", last)
		if err != nil {
			return err
		}
		id, ended, err := c.steps(s.out, resp.Body, last)
		last = id
		resp.Body.Close()
		switch {
		case ended || !c.Follow || ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
	}
}

// stepMax bounds one event.
const stepMax = 1 << 20

// steps prints the events of a stream, and returns the id of the last one and whether it was the
// end of the run. A stream that is cut off is no error.
func (c logsCmd) steps(w io.Writer, from io.Reader, last string) (id string, ended bool, err error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, stepMax)
	event, data, next := "", "", last
	for lines.Scan() {
		switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
		case "id":
			next = value
		case "event":
			event = value
		case "data":
			data = value
		case "": // the event is whole
			if data != "" {
				err = c.step(w, event, data)
				last = next
			}
			if err != nil || event == "end" {
				return last, event == "end", err
			}
			event, data = "", ""
		}
	}
	return last, false, nil
}

// step prints one event.
func (c logsCmd) step(w io.Writer, event, data string) (err error) {
	if c.JSON {
		_, err = fmt.Fprintln(w, data)
		return err
	}
	if event == "end" {
		var end web.RunEnd
		if err = json.Unmarshal([]byte(data), &end); err == nil {
			_, err = fmt.Fprintf(w, "the run has ended: %s (attempt %d)\n", end.Status, end.Attempt)
		}
		return err
	}
	var step work.Step
	if err = json.Unmarshal([]byte(data), &step); err != nil {
		return err
	}
	text := step.Text
	switch step.Kind {
	case work.StepTool:
		text = step.Tool + ": " + text
	case work.StepFile:
		text = "changes " + step.Path
	case work.StepUsage:
		if step.Usage != nil && step.Usage.Unpriced() {
			text = "price not known"
		} else if step.Usage != nil {
			text = fmt.Sprintf("%.2f USD so far", float64(step.Usage.MicroUSD)/1e6)
		}
	case work.StepText, work.StepNote:
	}
	_, err = fmt.Fprintf(steady{w}, "%s  %-5s  %s\n", step.At.UTC().Format(time.TimeOnly), step.Kind, oneLine(text, 2000))
	return err
}
