package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/adapters/agentcli/modeltest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// With -gateway agents call an imitation of a model through the gateway of models: what they cost is
// measured there. The developers of two cards get an answer the first time that costs more than they
// may: they are ended in the middle of it, and a person lets them try again.
const (
	developerBudget = "0.05" // dollars
	modelKey        = "sk-of-the-demonstration"
	modelPrices     = "claude-haiku-4-5=1/5/0.1/1.25,claude-sonnet-4-5=3/15/0.3/3.75,claude-opus-4-8=5/25/0.5/6.25,gpt-5.5=2/10/0.2/0"
	budgetWords     = "was ended at its budget"
)

// wordy are words in the titles of the two cards.
func wordy() []string { return []string{injected, stuck} }

// openModel starts the imitation.
func (w *world) openModel() {
	var mu sync.Mutex
	said, answers := map[string]bool{}, int64(0)
	w.model = modeltest.New(func(q modeltest.Request) modeltest.Turn {
		mu.Lock()
		defer mu.Unlock()
		for _, title := range wordy() {
			if strings.Contains(q.Text, title) && strings.Contains(q.Text, "developer") && !said[title] {
				said[title] = true
				return modeltest.Turn{Text: strings.Repeat("There is a lot to say about this. ", 3000), Usage: modeltest.Usage{Input: 1000, Output: 25_000}}
			}
		}
		answers++ // no two runs cost the same: their comments would be taken for one that was written twice
		return modeltest.Turn{Text: "Do as the script says.", Usage: modeltest.Usage{Input: 1000, CacheRead: 20_000, Output: 400 + 10*answers}}
	})
}

// modelSettings are those of the service.
func (w *world) modelSettings() map[string]string {
	if w.model == nil {
		return nil
	}
	return map[string]string{
		"MODEL_GATEWAY": "127.0.0.1:0", "ANTHROPIC_API_KEY": modelKey, "ANTHROPIC_URL": w.model.URL, "OPENAI_API_KEY": modelKey, "OPENAI_URL": w.model.URL, "AGENT_PRICES": modelPrices,
	}
}

// limitOf is what a run of a role may cost, as a field of the registry.
func (w *world) limitOf(role stage.Role) string {
	if w.model == nil || role != stage.Developer {
		return ""
	}
	return ", budget_usd: " + developerBudget
}

// ask calls the model as the environment says; without a gateway there is none.
func (j job) ask() error {
	base := os.Getenv("SIGNALBOX_MODEL_URL")
	if base == "" {
		return nil
	}
	path, words := "/anthropic/v1/messages", "messages"
	if strings.HasPrefix(j.model, "gpt") {
		path, words = "/openai/v1/responses", "input"
	}
	body, err := json.Marshal(map[string]any{
		"model": j.model, "stream": true, words: []any{map[string]string{"role": "user", "content": "You are the " + j.role + " of: " + j.title}},
	})
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(context.Background(), http.MethodPost, base+path, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("X-Api-Key", os.Getenv("SIGNALBOX_MODEL_TOKEN"))
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	answer, err := io.ReadAll(a.Body)
	_, refused, cut := strings.Cut(string(answer), "event: error\n")
	if a.StatusCode != http.StatusOK {
		refused, cut = string(answer), true
	}
	if cut {
		err = errors.Join(err, fmt.Errorf("the model: %s", strings.TrimSpace(refused)))
	}
	return err
}
