// @ts-check
// Our own board in a browser: cards are dragged between columns, and no word that was typed
// is lost when the server goes away. Everything works without this module.

const main = document.getElementById("main");

/** @type {HTMLElement | null} */
let toast = null;

/**
 * Says what happens to what was sent; nothing: it is done.
 * @param {string} text
 */
function say(text) {
  if (!toast) {
    toast = document.createElement("p");
    toast.className = "toast";
    toast.setAttribute("role", "status");
    document.body.append(toast);
  }
  toast.textContent = text;
  toast.hidden = text === "";
}

const unanswered = "The server does not answer. It is sent again until it does; nothing is lost.";

/**
 * Posts a form until the server has said something about it. What is sent again is not made
 * twice: its key says that it is the same.
 * @param {string} url
 * @param {URLSearchParams} body
 */
async function post(url, body) {
  for (let wait = 500; ; wait = Math.min(2 * wait, 8000)) {
    try {
      const answer = await fetch(url, { method: "POST", body, headers: { Accept: "text/html" } });
      if (answer.status < 500) return answer;
    } catch {
      // it comes back
    }
    say(unanswered);
    await new Promise((done) => setTimeout(done, wait));
  }
}

/** @param {FormData} data */
function encoded(data) {
  const out = new URLSearchParams();
  for (const [name, value] of data) if (typeof value === "string") out.append(name, value);
  return out;
}

// ---- Drafts

const kept = ["title", "description", "labels", "body", "key", "version", "name", "start"];

/** @param {HTMLFormElement} form */
const place = (form) => `signalbox-draft:${new URL(form.action).pathname}${new FormData(form).get("project") ?? ""}`;

/** @param {string} key @param {string | null} value */
function store(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // private windows have no storage
  }
}

/** @param {string} key @returns {Record<string, string> | null} */
function stored(key) {
  try {
    const value = JSON.parse(localStorage.getItem(key) ?? "null");
    return value && typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

/** @param {HTMLFormElement} form */
function fields(form) {
  return [...form.elements].filter((e) =>
    (e instanceof HTMLInputElement || e instanceof HTMLTextAreaElement) && kept.includes(e.name));
}

/** @param {HTMLFormElement} form */
function values(form) {
  /** @type {Record<string, string>} */
  const out = {};
  for (const e of fields(form)) {
    if (e instanceof HTMLInputElement && e.type === "checkbox") out[e.name] = e.checked ? "1" : "";
    else if (e instanceof HTMLInputElement || e instanceof HTMLTextAreaElement) out[e.name] = e.value;
  }
  return out;
}

/** @param {HTMLFormElement} form @param {Record<string, string>} have */
function fill(form, have) {
  for (const e of fields(form)) {
    if (!(e instanceof HTMLInputElement || e instanceof HTMLTextAreaElement) || typeof have[e.name] !== "string") continue;
    if (e instanceof HTMLInputElement && e.type === "checkbox") e.checked = have[e.name] !== "";
    else e.value = have[e.name];
  }
}

/** @param {HTMLFormElement} form */
function keep(form) {
  const at = place(form);
  const fresh = values(form);
  const words = ["title", "description", "labels", "body"];
  const draft = stored(at);
  if ("typed" in form.dataset) {
    store(at, JSON.stringify(fresh));
  } else if (draft && words.some((name) => (draft[name] ?? "") !== (fresh[name] ?? ""))) {
    fill(form, draft);
    const note = document.createElement("p");
    note.className = "draftnote";
    note.setAttribute("role", "status");
    note.append("What you typed before is here again, and is not saved yet. ");
    const drop = document.createElement("button");
    drop.type = "button";
    drop.textContent = "Discard it";
    drop.addEventListener("click", () => {
      store(at, null);
      fill(form, fresh);
      note.remove();
    });
    note.append(drop);
    form.prepend(note);
  }
  form.addEventListener("input", () => store(at, JSON.stringify(values(form))));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if ("sending" in form.dataset) return;
    const button = event.submitter instanceof HTMLButtonElement ? event.submitter : null;
    const data = new FormData(form);
    if (button?.name) data.append(button.name, button.value);
    form.dataset.sending = "";
    const answer = await post(form.action, encoded(data));
    say("");
    delete form.dataset.sending;
    if (answer.ok) {
      store(at, null);
      const [to, hash = ""] = answer.url.split("#");
      if (to === location.href.split("#")[0]) {
        location.hash = hash;
        location.reload();
      } else location.assign(answer.url);
      return;
    }
    if (button?.name) { // the server says what is wrong on a page of its own
      const choice = document.createElement("input");
      choice.type = "hidden";
      choice.name = button.name;
      choice.value = button.value;
      form.append(choice);
    }
    HTMLFormElement.prototype.submit.call(form);
  });
}

for (const form of document.querySelectorAll("form[data-draft]")) if (form instanceof HTMLFormElement) keep(form);

// ---- Several at once

/** Says how many cards are ticked. */
function count() {
  const n = document.querySelectorAll("input[name=card]:checked").length;
  const chosen = document.getElementById("chosen");
  if (chosen) chosen.textContent = n ? String(n) : "ticked";
}
main?.addEventListener("change", count);
document.addEventListener("refreshed", count);

// ---- Dragging

/** @param {EventTarget | null} target */
const columnAt = (target) => target instanceof Element ? /** @type {HTMLElement | null} */ (target.closest("[data-column]")) : null;

function clear() {
  for (const e of document.querySelectorAll(".column.over")) e.classList.remove("over");
}

/**
 * Moves a card into another column, or beside another card of its own.
 * @param {HTMLElement} card
 * @param {HTMLElement} column
 * @param {HTMLElement | null} other
 * @param {boolean} behind
 */
async function drop(card, column, other, behind) {
  const id = card.dataset.card ?? "";
  const within = card.parentElement === column;
  if (!id || within && (!other || other === card)) return;
  if (!within) column.querySelector("h2")?.after(card);
  else if (behind) other?.after(card);
  else other?.before(card);
  column.classList.remove("empty");
  card.classList.add("sending");
  const body = within ? new URLSearchParams({ [behind ? "behind" : "before"]: other?.dataset.card ?? "" })
    : new URLSearchParams({ form: "move", column: column.dataset.column ?? "" });
  const page = `${document.body.dataset.root ?? "./"}board/cards/${encodeURIComponent(id)}`;
  const answer = await post(`${page}/${within ? "arrange" : "move"}`, body);
  say("");
  card.classList.remove("sending");
  if (answer.ok) document.dispatchEvent(new Event("refresh"));
  else location.assign(column.dataset.column === "rejected" ? `${page}?said=reason` : page); // it says who may, and asks for what is missing
}

main?.addEventListener("dragstart", (event) => {
  const card = event.target instanceof Element ? event.target.closest("[data-card][draggable=true]") : null;
  if (!card || !event.dataTransfer) return;
  event.dataTransfer.setData("text/plain", card.id);
  event.dataTransfer.effectAllowed = "move";
  document.body.dataset.dragging = "";
});
main?.addEventListener("dragover", (event) => {
  const column = columnAt(event.target);
  if (!column || !("dragging" in document.body.dataset)) return;
  event.preventDefault();
  clear();
  column.classList.add("over");
});
main?.addEventListener("drop", (event) => {
  const column = columnAt(event.target);
  const card = document.getElementById(event.dataTransfer?.getData("text/plain") ?? "");
  clear();
  if (!column || !card?.dataset.card) return;
  event.preventDefault();
  const other = event.target instanceof Element ? /** @type {HTMLElement | null} */ (event.target.closest("[data-card]")) : null;
  const box = other?.getBoundingClientRect();
  drop(card, column, other, !!box && event.clientY > box.top + box.height / 2);
});
main?.addEventListener("keydown", (event) => {
  const step = event.key === "ArrowUp" ? "before" : event.key === "ArrowDown" ? "behind" : "";
  const card = event.target instanceof Element ? /** @type {HTMLElement | null} */ (event.target.closest("[data-card]")) : null;
  if (!event.altKey || !step || !card?.parentElement) return;
  event.preventDefault();
  const focus = document.activeElement;
  const button = card.querySelector(`button[name=${step}]`);
  const other = button instanceof HTMLButtonElement ? document.getElementById(`k-${button.value}`) : null;
  drop(card, card.parentElement, other, step === "behind");
  if (focus instanceof HTMLElement) focus.focus(); // it has left the page for a moment
});
main?.addEventListener("dragend", () => {
  clear();
  delete document.body.dataset.dragging;
  document.dispatchEvent(new Event("refresh"));
});
