// @ts-check
// Draws the tracks that the layer lists.

/** @type {Record<string, string>} of activities; each can be told from both backgrounds */
const colours = { hiking: "#2f9e4f", running: "#d6499b", cycling: "#3f83d6", skiing: "#9568d4" };
const form = /** @type {HTMLFormElement} */ (document.getElementById("filter"));
const map = /** @type {SVGSVGElement & HTMLElement} */ (/** @type {unknown} */ (document.getElementById("map")));
const about = /** @type {HTMLElement} */ (document.getElementById("about"));
const [west, south, east, north] = [6, 44.3, 14.5, 48];
const stretch = 1 / Math.cos((46 * Math.PI) / 180);
const space = "http://www.w3.org/2000/svg";
/** @type {AbortController | undefined} */
let asked;

/**
 * @typedef {{ name: string, activity: string, length_m: number, attribution: string }} Track
 * @param {{ geometry: { type: string, coordinates: any[] }, properties: Track }} feature
 */
function path(feature) {
  const p = document.createElementNS(space, "path");
  const { geometry: g, properties: of } = feature;
  const lines = g.type === "LineString" ? [g.coordinates] : g.coordinates;
  const points = (/** @type {number[][]} */ l) => "M" + l.map(([x, y]) => `${(x - west).toFixed(5)} ${((north - y) * stretch).toFixed(5)}`).join("L");
  const words = `${of.name}: ${of.activity}, ${(of.length_m / 1000).toFixed(1)} km. ${of.attribution}.`;
  p.setAttribute("d", lines.map(points).join(""));
  p.setAttribute("stroke", colours[of.activity] ?? "#888");
  p.setAttribute("tabindex", "0");
  p.setAttribute("role", "img");
  p.setAttribute("aria-label", words);
  p.onclick = p.onfocus = () => {
    about.textContent = words;
  };
  return p;
}

async function draw() {
  asked?.abort();
  asked = new AbortController();
  const wanted = [...form.querySelectorAll("input")].filter((box) => box.checked).map((box) => box.value);
  if (!wanted.length) {
    map.replaceChildren();
    about.textContent = "No activity is chosen.";
    return;
  }
  try {
    const answer = await fetch(`/api/gps-tracks?bbox=${west},${south},${east},${north}&zoom=10&activity=${wanted.join(",")}`, { signal: asked.signal });
    if (!answer.ok) throw new Error(`the answer was ${answer.status}`);
    const list = await answer.json();
    map.replaceChildren(...list.features.map(path));
    about.textContent = `${list.numberReturned} tracks. Choose one.`;
  } catch (e) {
    if (/** @type {Error} */ (e).name !== "AbortError") about.textContent = `The tracks cannot be read: ${/** @type {Error} */ (e).message}`;
  }
}

for (const [name, colour] of Object.entries(colours)) {
  const label = document.createElement("label");
  const box = document.createElement("input");
  const swatch = document.createElement("span");
  box.type = "checkbox";
  box.checked = true;
  box.value = name;
  swatch.className = "swatch";
  swatch.style.background = colour;
  label.append(box, swatch, name);
  form.append(label);
}
map.setAttribute("viewBox", `0 0 ${east - west} ${(north - south) * stretch}`);
form.addEventListener("change", draw);
draw();
