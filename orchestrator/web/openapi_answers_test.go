package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The document's own examples of answers are as it says.
func TestDescribedExamples(t *testing.T) {
	t.Parallel()
	root, operations := described(t)
	examples := 0
	for name, op := range operations {
		for status := range op.At(root, "responses") {
			for media := range op.At(root, "responses", status, "content") {
				content := op.At(root, "responses", status, "content", media)
				if example, has := content["example"]; has {
					require.Empty(t, root.Violations(content.At(root, "schema"), example, name))
					examples++
				}
			}
		}
	}
	require.Positive(t, examples)
}
