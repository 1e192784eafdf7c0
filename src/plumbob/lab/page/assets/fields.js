// One control for one key of the plan: a label, an input, a line for what it means and one for what is wrong with it.
// Each is { element, hint, show(value, most), complain(text) }.

import { fill, h } from "./dom.js";
import { explained } from "./glossary.js";

// A number from a field. An emptied field is no number, and the plan says so: what was there before does not count.
const numberIn = (input, isWhole) => {
  if (input.value === "" || !Number.isFinite(Number(input.value))) return "";
  return isWhole ? Math.round(Number(input.value)) : Number(input.value);
};

// Not under somebody's hands: 0.0 must not become 0 before the 5 is typed.
export const put = (input, value) => {
  if (document.activeElement !== input) input.value = String(value);
};

function framed(key, title, input, { beside = [], kind = "" } = {}) {
  const id = `key-${key.name}`;
  const hint = h("p", { class: "hint", id: `${id}-hint` }, explained(key.comment));
  const wrong = h("p", { class: "wrong", id: `${id}-wrong`, hidden: true });
  input.id = id;
  input.setAttribute("aria-describedby", `${id}-hint ${id}-wrong`);
  const element = h("div", { class: `field ${kind}` }, h("label", { for: id }, title), input, beside, hint, wrong);
  const complain = (text) => {
    wrong.textContent = text;
    wrong.hidden = !text;
    input.setAttribute("aria-invalid", text ? "true" : "false");
  };
  return { element, hint, complain };
}

export function choice(key, title, set, sayings = {}) {
  const options = key.choices.map((word) => h("option", { value: word }, word));
  const input = h("select", { onchange: () => set(input.value) }, options);
  const field = framed(key, title, input);
  const show = (value) => {
    input.value = value;
    if (value in sayings) fill(field.hint, explained(sayings[value]));
  };
  return { ...field, show };
}

export function tick(key, title, set) {
  const input = h("input", { type: "checkbox", onchange: () => set(input.checked) });
  return { ...framed(key, title, input, { kind: "tick" }), show: (value) => (input.checked = value) };
}

export function words(key, title, set) {
  const input = h("input", { type: "text", maxlength: "200", oninput: () => set(input.value) });
  return { ...framed(key, title, input), show: (value) => put(input, value) };
}

export function amount(key, title, set) {
  const isWhole = key.kind === "int";
  const low = key.low === null ? undefined : String(key.low);
  const input = h("input", { type: "number", step: isWhole ? "1" : "any", min: low });
  input.addEventListener("input", () => set(numberIn(input, isWhole)));
  return { ...framed(key, title, input), show: (value) => put(input, value) };
}

const TRACK = 1000;

// A slider from 1 whose steps grow with the value, beside a field for the exact number.
export function slider(key, title, set) {
  let most = 2;
  let now = 1;
  const range = h("input", { type: "range", min: "0", max: String(TRACK) });
  const exact = h("input", { type: "number", min: String(key.low ?? 1), step: "1", "aria-label": `${title}, exactly` });
  const within = (value) => Math.min(most, Math.max(1, value));
  range.addEventListener("input", () => set(within(Math.round(most ** (Number(range.value) / TRACK)))));
  range.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    set(within(Number(now) + way * Math.max(1, Math.round(now / 20))));
  });
  exact.addEventListener("input", () => set(numberIn(exact, true)));
  const show = (value, limit) => {
    most = Math.max(2, limit);
    now = value;
    // Under the pointer the thumb stays where it is: several places may stand for one number.
    if (document.activeElement !== range || Math.round(most ** (Number(range.value) / TRACK)) !== value) {
      range.value = String(Math.round((TRACK * Math.log(Math.max(1, value))) / Math.log(most)));
    }
    range.setAttribute("aria-valuetext", String(value));
    put(exact, value);
  };
  return { ...framed(key, title, range, { beside: [exact], kind: "slider" }), show };
}
