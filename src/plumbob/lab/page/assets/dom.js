// Elements from data. Whatever somebody named becomes text here, never markup.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  fill(element, ...children);
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== undefined && child !== null));
}

// Charts and pictures come from our own Python, which escapes every word in them. Nothing in them is run.
export function drawn(markup) {
  const parsed = new DOMParser().parseFromString(markup, "text/html");
  return [...parsed.body.children].map((one) => document.importNode(one, true));
}

export const badge = (verdict) => h("span", { class: `badge ${verdict.replace(" ", "-")}` }, verdict);

export const byId = (id) => document.getElementById(id);

export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return Number(value).toLocaleString("en", { maximumFractionDigits: digits });
}

export function duration(seconds) {
  if (seconds < 1.5) return "a second";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

export function size(bytes) {
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function save(text, name) {
  const address = URL.createObjectURL(new Blob([text]));
  h("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}
