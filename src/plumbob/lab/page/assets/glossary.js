// Words that not everybody knows: a list of them, and the same words wherever they stand in a sentence, each with its
// meaning under the pointer or the focus.

import { byId, fill, h } from "./dom.js";

const MARGIN = 8;
let entries = [];
let pattern = null;

// `words` are { word, forms, means }: every form of a word stands for it in a sentence.
export function learn(words) {
  entries = words;
  const forms = words.flatMap((entry) => entry.forms).sort((one, two) => two.length - one.length);
  pattern = new RegExp(`\\b(${forms.join("|")})\\b`, "gi");
  fill(byId("glossary"), words.map(({ word, means }) =>
    h("div", {}, h("dt", {}, word), h("dd", { id: idOf(word) }, means))));
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}

// A sentence whose words can be asked about; each word once.
export function explained(text) {
  const seen = new Set();
  const pieces = [];
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    const entry = entries.find((one) => one.forms.includes(found[0].toLowerCase()));
    if (!entry || seen.has(entry.word)) continue;
    seen.add(entry.word);
    pieces.push(text.slice(at, found.index), term(found[0], entry));
    at = found.index + found[0].length;
  }
  return [...pieces, text.slice(at)];
}

function term(words, entry) {
  const button = h("button", { type: "button", class: "term", "aria-describedby": idOf(entry.word) }, words);
  const show = () => place(button, entry.means);
  for (const event of ["pointerenter", "focus", "click"]) button.addEventListener(event, show);
  for (const event of ["pointerleave", "blur"]) button.addEventListener(event, hide);
  return button;
}

// Below the word, or above it where there is no room; never beyond the window's edges.
function place(button, means) {
  const tip = byId("tip");
  tip.textContent = means;
  tip.hidden = false;
  const word = button.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.max(MARGIN, Math.min(word.left, document.documentElement.clientWidth - width - MARGIN));
  const isRoom = word.bottom + height + MARGIN < window.innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${isRoom ? word.bottom + 4 : word.top - height - 4}px`;
}

function hide() {
  byId("tip").hidden = true;
}

const idOf = (word) => `word-${word.replaceAll(" ", "-")}`;
