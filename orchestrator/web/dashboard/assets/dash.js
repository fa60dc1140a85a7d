// @ts-check
// Keeps a page up to date. The server says only that something has changed; the
// page is then loaded again and takes over what differs, so that focus,
// open details and scrolling stay. Everything works without this module.

const root = document.body.dataset.root ?? "./";
const still = "still" in document.body.dataset;
let watch = document.body.dataset.watch ?? "";
let rev = document.body.dataset.rev ?? "";
let paused = false;
let asking = false;
let again = false;
/** @type {EventSource | null} */
let source = null;

/** @param {string} id */
const get = (id) => document.getElementById(id);

// A link to sign in carries the token in its fragment, which leaves the address before anything else reads it.
const typed = get("token");
const carried = location.hash.slice(1);
if (carried && !get(carried) && typed instanceof HTMLInputElement) {
  typed.value = carried;
  history.replaceState(null, "", location.pathname + location.search);
}

/**
 * Makes one node look like another. Children are matched by id, else by place.
 * @param {Node} have
 * @param {Node} want
 */
function morph(have, want) {
  if (!(have instanceof Element) || !(want instanceof Element)) {
    if (have.nodeValue !== want.nodeValue) have.nodeValue = want.nodeValue;
    return;
  }
  if ("keep" in /** @type {HTMLElement} */ (have).dataset || have.isEqualNode(want)) return;
  for (const a of [...have.attributes]) {
    if (!want.hasAttribute(a.name) && a.name !== "open") have.removeAttribute(a.name);
  }
  for (const a of want.attributes) {
    if (have.getAttribute(a.name) !== a.value && a.name !== "open") have.setAttribute(a.name, a.value);
  }
  if (have === document.activeElement && have.matches("input, select")) return;
  let at = have.firstChild;
  for (const child of [...want.childNodes]) {
    const id = child instanceof Element ? child.id : "";
    const match = id ? [...have.children].find((c) => c.id === id) ?? null : at;
    const same = match && match.nodeName === child.nodeName && (id !== "" || !(match instanceof Element && match.id));
    if (!same) {
      have.insertBefore(child, at);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else have.insertBefore(match, at);
    morph(match, child);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** Loads this page again and takes it over. */
async function refresh() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    const url = new URL(location.href);
    // What came of a request stays long enough to be read, whatever changes meanwhile.
    if (performance.now() > 10000) url.searchParams.delete("said");
    const answer = await fetch(url, { headers: { Accept: "text/html" } });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const have = get("main");
      const want = page.getElementById("main");
      if (have && want && !paused && !("dragging" in document.body.dataset)) {
        const focused = document.activeElement?.id ?? "";
        const all = () => [...have.querySelectorAll("textarea")];
        const typed = all();
        morph(have, want);
        for (const old of typed.filter((f) => !f.isConnected)) {
          const now = all().find((f) => f.id === old.id);
          if (now) now.value ||= old.value;
        }
        if (focused && document.activeElement === document.body) get(focused)?.focus();
        rev = page.body.dataset.rev ?? rev;
        const at = get("at");
        const read = page.getElementById("at");
        if (at && read) morph(at, read);
        document.dispatchEvent(new Event("refreshed"));
        const run = page.body.dataset.watch ?? "";
        if (run !== watch) { // another run is at work
          watch = run;
          source?.close();
          source = null;
          listen();
        }
      }
    }
    state(answer.ok);
  } catch {
    state(false);
  } finally {
    asking = false;
    if (again) {
      again = false;
      setTimeout(refresh, 300);
    }
  }
}

/** @param {boolean} ok */
function state(ok) {
  const live = get("live");
  const button = get("pause");
  if (!live || !button) return;
  live.dataset.state = ok ? "on" : "off";
  button.textContent = paused ? "Resume" : ok ? "Pause" : "No connection";
}

/** Listens while the page can be seen and is not paused. */
function listen() {
  const want = !paused && !document.hidden;
  if (!want) {
    source?.close();
    source = null;
    return;
  }
  if (source) return;
  source = new EventSource(`${root}changes?rev=${encodeURIComponent(rev)}&run=${watch}`);
  source.addEventListener("change", refresh);
  source.onopen = () => state(true);
  source.onerror = () => state(false);
}

if (!still) {
  const live = get("live");
  const button = get("pause");
  if (live) live.hidden = false;
  button?.addEventListener("click", () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    state(true);
    listen();
    if (!paused) refresh();
  });
  document.addEventListener("visibilitychange", listen);
  // Ages grow although nothing changes.
  setInterval(() => {
    if (source?.readyState === EventSource.CLOSED) source = null; // it was refused: ask once more
    listen();
    if (!paused && !document.hidden) refresh();
  }, 20000);
  document.addEventListener("refresh", refresh); // another module has changed something
  listen();
}
