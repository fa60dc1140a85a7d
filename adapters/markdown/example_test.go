package markdown_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/adapters/markdown"
)

// What an agent has written is shown as a page, and none of its HTML is.
func Example() {
	fmt.Print(markdown.Render("# Tiles\n\nCache *them*. <script>alert(1)</script>\n"))
	// Output:
	// <h3>Tiles</h3><p>Cache <em>them</em>. <code>&lt;script&gt;</code>alert(1)<code>&lt;/script&gt;</code></p>
}
