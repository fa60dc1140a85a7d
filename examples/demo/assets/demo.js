// @ts-check
// Keeps a page up to date: it is loaded again and takes over what differs,
// so that focus, open details and scrolling stay. Cards can be dragged. Everything
// works without this module.

let dragging = false;

/**
 * The id of a node, also of a form that has a field of that name.
 * @param {Node} node
 */
const idOf = (node) => (node instanceof Element ? (node.getAttribute("id") ?? "") : "");

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
  if (have.isEqualNode(want)) return;
  if (have === document.activeElement && have.matches("input, select")) return;
  for (const a of [...have.attributes]) {
    if (!want.hasAttribute(a.name) && a.name !== "open") have.removeAttribute(a.name);
  }
  for (const a of want.attributes) {
    if (have.getAttribute(a.name) !== a.value) have.setAttribute(a.name, a.value);
  }
  let at = have.firstChild;
  for (const child of [...want.childNodes]) {
    const id = idOf(child);
    // A card may come from another column, with its details open.
    const known = id ? document.getElementById(id) : null;
    const match = id ? (known && !known.contains(have) ? known : null) : at;
    const same = match && match.nodeName === child.nodeName && (id !== "" || idOf(match) === "");
    if (!same) {
      have.insertBefore(document.importNode(child, true), at);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else have.insertBefore(match, at);
    morph(match, child);
  }
  while (at) {
    const next = at.nextSibling;
    // What the page has elsewhere is taken there, with what was typed into it.
    if (!idOf(at) || !want.ownerDocument.getElementById(idOf(at))) at.remove();
    at = next;
  }
  if (have instanceof HTMLSelectElement && want instanceof HTMLSelectElement) have.value = want.value;
}

async function refresh() {
  if (document.hidden || dragging || document.body.className === "map") return;
  const state = document.getElementById("state");
  const main = document.getElementById("main");
  if (!state || !main) return;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const [main2, state2] = [page.getElementById("main"), page.getElementById("state")];
    if (!answer.ok || !main2 || !state2 || dragging) return;
    const focused = document.activeElement?.id ?? "";
    morph(main, main2);
    morph(state, state2);
    if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
  } catch {
    state.textContent = "The demo has ended";
    state.className = "down";
  }
}

/**
 * Moves a card, or says something on it.
 * @param {{ id: string, column?: string, comment?: string }} what
 */
async function move(what) {
  await fetch("/move", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(what) });
  await refresh();
}

/** @param {EventTarget | null} target @param {string} selector @returns {HTMLElement | null} */
const up = (target, selector) => (target instanceof Element ? target.closest(selector) : null);

document.documentElement.classList.add("scripted");
document.addEventListener("change", (e) => {
  const card = up(e.target, "[data-id]");
  if (!(e.target instanceof HTMLSelectElement) || !card) return;
  e.target.blur(); // else the page leaves it alone
  move({ id: card.dataset.id ?? "", column: e.target.value });
});
document.addEventListener("submit", (e) => {
  const card = up(e.target, "[data-id]");
  const said = e.target instanceof HTMLFormElement ? e.target.elements.namedItem("comment") : null;
  if (!card || !(said instanceof HTMLInputElement)) return;
  e.preventDefault();
  move({ id: card.dataset.id ?? "", comment: said.value });
  said.value = "";
});
document.addEventListener("dragstart", (e) => {
  const card = up(e.target, "[data-id]");
  if (!card || !e.dataTransfer) return;
  dragging = true;
  e.dataTransfer.setData("text/plain", card.dataset.id ?? "");
});
document.addEventListener("dragend", () => {
  dragging = false;
});
document.addEventListener("dragover", (e) => {
  const column = up(e.target, "[data-column]");
  if (!column) return;
  e.preventDefault();
  column.classList.add("over");
});
document.addEventListener("dragleave", (e) => up(e.target, "[data-column]")?.classList.remove("over"));
document.addEventListener("drop", (e) => {
  const column = up(e.target, "[data-column]");
  if (!column || !e.dataTransfer) return;
  e.preventDefault();
  dragging = false;
  move({ id: e.dataTransfer.getData("text/plain"), column: column.dataset.column });
});
document.addEventListener("visibilitychange", refresh);
setInterval(refresh, 1000);
