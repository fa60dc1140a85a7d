// The search reads an index that is part of the site; no server is needed.
const up = document.body.dataset.up
const query = document.getElementById("query")
const found = document.getElementById("found")
let index // a promise of the sections

const load = () => (index ??= new Promise((done, fail) => {
  const script = document.createElement("script")
  script.src = up + "index.js"
  script.onload = () => done(sections)
  script.onerror = fail
  document.head.append(script)
}))

// A section counts more where its title, then its page's, has a word.
const score = (s, words) => {
  let sum = 0
  for (const w of words) {
    const here = 20 * s.t.toLowerCase().includes(w) + 5 * s.p.toLowerCase().includes(w) + s.w.toLowerCase().includes(w)
    if (here === 0) return 0
    sum += here
  }
  return sum
}

const entry = (s, word) => {
  const a = document.createElement("a")
  const small = document.createElement("small")
  const at = Math.max(0, s.w.toLowerCase().indexOf(word) - 40)
  a.href = up + s.u
  a.textContent = s.t === s.p ? s.t : s.p + ": " + s.t
  small.textContent = (at > 0 ? "…" : "") + s.w.slice(at, at + 140)
  a.append(small)
  return a
}

const search = async () => {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean)
  found.hidden = words.length === 0
  if (found.hidden) return
  const hits = (await load()).map((s) => [score(s, words), s]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]).slice(0, 12)
  const none = document.createElement("p")
  none.textContent = "Nothing has these words."
  found.replaceChildren(...(hits.length ? hits.map(([, s]) => entry(s, words[0])) : [none]))
}

query.addEventListener("focus", load)
query.addEventListener("input", search)
query.form.addEventListener("submit", (e) => { e.preventDefault(); found.querySelector("a")?.click() })
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape") found.hidden = true
  if (e.key === "/" && document.activeElement !== query) { e.preventDefault(); query.focus() }
})
document.addEventListener("click", (e) => { if (!found.contains(e.target) && e.target !== query) found.hidden = true })

for (const h of document.querySelectorAll("main :is(h1, h2, h3, h4)[id]")) {
  const a = document.createElement("a")
  a.className = "anchor"
  a.href = "#" + h.id
  a.textContent = "#"
  a.setAttribute("aria-label", "Link to " + h.textContent)
  h.append(a)
}
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest" })
