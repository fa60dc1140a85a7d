// @ts-check
// Keys for what pages do without them. They can be turned off, for who speaks to the machine.

const keys = { "?": "these keys", "/": "search", c: "new card", j: "next card", k: "the card before", "Alt ↑ ↓": "move the card" };

/** @param {string} value */
function keysOff(value = "") {
  try {
    if (value) localStorage.setItem("signalbox-keys", value);
    return localStorage.getItem("signalbox-keys") === "off";
  } catch {
    return value === "off"; // private windows have no storage
  }
}

/** Shows what the keys do. */
function help() {
  const box = document.createElement("dialog");
  box.className = "keys";
  box.setAttribute("aria-label", "Keys");
  const list = document.createElement("dl");
  for (const [key, does] of Object.entries(keys)) {
    for (const [tag, text] of [["dt", key], ["dd", does]]) {
      const e = document.createElement(tag);
      e.textContent = text;
      list.append(e);
    }
  }
  const row = document.createElement("label");
  const on = document.createElement("input");
  on.type = "checkbox";
  on.checked = !keysOff();
  on.addEventListener("change", () => keysOff(on.checked ? "on" : "off"));
  row.append(on, " Keys are on (? works always)");
  const done = document.createElement("button");
  done.textContent = "Close";
  done.addEventListener("click", () => box.close());
  box.append(list, row, done);
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

/** @param {number} by */
function step(by) {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main .card h3 a, main .needs .what > a, main .chapter > summary")])
    .filter((e) => e.checkVisibility());
  const at = all.findIndex((e) => e === document.activeElement);
  all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, textarea, select, dialog, [contenteditable]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.key !== "?" && keysOff()) return;
  const search = document.querySelector("main input[type=search]");
  const link = document.querySelector(`main [data-key="${CSS.escape(event.key)}"]`);
  if (event.key === "?") help();
  else if (event.key === "/" && search instanceof HTMLElement) search.focus();
  else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
  else if (event.key.length === 1 && link instanceof HTMLElement) link.click();
  else return;
  event.preventDefault();
});
