// @ts-check
// Follows the logs and the steps of a run for as long as they grow. Without this module
// the page shows them as they were when it was read.

/** @type {WeakSet<HTMLElement>} */
const followed = new WeakSet();
const roomy = 1000; // steps on a page that follows: what is long ago may go

/**
 * Adds what has been read to the end of a log, or to a list of steps, of which the last one
 * may have grown.
 * @param {HTMLElement} pane
 * @param {string} text
 * @param {boolean} trim
 */
function add(pane, text, trim) {
  if (pane.matches("pre")) return pane.append(text);
  for (const item of new DOMParser().parseFromString(`<ol>${text}</ol>`, "text/html").querySelectorAll("ol > li")) {
    const had = document.getElementById(item.id);
    const folded = item.querySelector("details");
    if (folded) folded.open = had?.querySelector("details")?.open ?? false;
    if (!had) pane.append(item);
    else if (!had.isEqualNode(item)) had.replaceWith(item);
  }
  while (trim && pane.childElementCount > roomy) pane.firstElementChild?.remove();
}

/**
 * Follows the end of a pane. A reader who has scrolled up stays there.
 * @param {HTMLElement} pane
 * @param {HTMLInputElement} box whether the end is kept in sight
 */
async function tail(pane, box) {
  const end = () => (pane.scrollTop = pane.scrollHeight);
  end();
  box.addEventListener("change", () => box.checked && end());
  let was = pane.scrollTop;
  pane.addEventListener("scroll", () => {
    const down = pane.scrollTop + pane.clientHeight > pane.scrollHeight - 24;
    if (down || pane.scrollTop < was) box.checked = down; // a pane that became lower is no reader who scrolled up
    was = pane.scrollTop;
  });
  for (;;) {
    await new Promise((done) => setTimeout(done, 1000));
    if (!pane.isConnected) return;
    if (document.hidden || pane.closest("details:not([open])")) continue;
    try {
      const answer = await fetch(`${pane.dataset.log}&from=${pane.dataset.next}`);
      if (!answer.ok) return;
      const text = await answer.text();
      const next = answer.headers.get("X-Log-Next") ?? pane.dataset.next;
      const keep = box.checked;
      add(pane, text, keep);
      if (keep) end();
      if (next === pane.dataset.next && answer.headers.get("X-Log-Live") !== "true") return;
      pane.dataset.next = next;
    } catch {
      continue; // the server comes back
    }
  }
}

/** Follows what the page shows and is not followed yet. */
function follow() {
  for (const box of document.querySelectorAll("input[data-follow]")) {
    if (!(box instanceof HTMLInputElement)) continue;
    const pane = document.getElementById(box.dataset.follow ?? "");
    const label = box.closest("label");
    if (label) label.hidden = false;
    if (!pane || followed.has(pane)) continue;
    followed.add(pane);
    tail(pane, box);
  }
}

document.addEventListener("refreshed", follow);
follow();
