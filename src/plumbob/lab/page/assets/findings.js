// What `check` says about a plan: grouped by who could work out what, changes marked, fixes a click away.

import { post } from "./api.js";
import { badge, byId, drawn, fill, h } from "./dom.js";
import { explained } from "./glossary.js";

export const ORDER = ["leaks", "degrades", "blocked", "not applicable"];
const ABOUT = {
  labels: "the labels", scores: "the scores", features: "the columns", weights: "the weights", ids: "the ids",
};
const CAN = {
  leaks: "can work out",
  degrades: "may learn something about",
  blocked: "is not shown to work out",
  "not applicable": "sees nothing that tells it",
};
const IN_SHORT = { leaks: "something leaks", degrades: "something may leak", blocked: "nothing is shown to leak" };
const COLOURS = {
  known: "known to the attacker",
  unknown: "not known",
  noisy: "under noise",
  "made-up": "made up by the attacker",
};

const keyOf = (one) => [one.attack, one.by, one.against, one.target].join("|");
const worst = (findings) => ORDER.find((verdict) => findings.some((one) => one.verdict === verdict));

// What only a cheat can read is no all-clear, but not what honest parties learn either.
function worstOf(findings) {
  const honest = worst(findings.filter((one) => one.assumes === "honest")) ?? "blocked";
  return honest !== "leaks" && findings.some((one) => one.verdict === "leaks") ? "degrades" : honest;
}

const worstOfBlock = (block) => worst(block.lines) ?? (block.unprevented.length ? "degrades" : "blocked");

// One of the two: what each party can work out, what stops it, and what that costs.
function headline(block) {
  const lines = block.lines.map((line) => h("p", {}, badge(line.verdict), ` ${line.says}`));
  const around = h("p", {}, block.agreed.join(" "));
  const price = block.price ? ` (its price: ${block.price})` : "";
  const remedy = block.remedy ? h("p", {}, "What helps: ", h("code", {}, block.remedy), price) : null;
  const unprevented = block.unprevented.map((line) => h("p", {}, `What no plan prevents: ${line}`));
  return h("article", { class: "group" }, h("h3", {}, block.heading), around,
    lines, block.nothing ? h("p", {}, block.nothing) : null, remedy, unprevented);
}

export class Findings {
  constructor(apply) {
    this.apply = apply;
    this.before = new Map();
    this.open = new Set();
  }

  // `draft` is the plan that the answer is about: the controls may hold another one by now.
  show(answer, draft) {
    this.draft = draft;
    const { findings } = answer;
    const isFirst = this.before.size === 0;
    if (isFirst) this.unfoldFirst(findings);
    const changes = findings.filter((one) => this.wasOf(one) !== undefined).length;
    const blocks = Object.values(answer.headlines);
    const sentence = blocks.map((block) => `${block.heading}, ${IN_SHORT[worstOfBlock(block)]}.`).join(" ");
    byId("sentence").textContent = sentence + (changes ? ` ${changes} changed just now.` : "");
    fill(byId("headlines"), blocks.map(headline), h("p", {}, answer.legend));
    byId("bar").dataset.worst = worstOf(findings);
    this.counts(findings);
    fill(byId("mistakes"));
    fill(byId("notes"), answer.notes.map((note) => h("li", {}, explained(note))));
    this.link(answer.plan_hash);
    const focused = document.activeElement?.closest(".finding")?.dataset.key;
    byId("findings-notes").hidden = false;
    fill(byId("findings"), groups(findings).map(([name, some]) => this.group(name, some)));
    // What had the focus is a new element now.
    if (focused) [...document.querySelectorAll(".finding")].find((one) => one.dataset.key === focused)?.firstChild.focus();
    this.before = new Map(findings.map((one) => [keyOf(one), one.verdict]));
  }

  // A plan that cannot be run has no findings: those of the last one that could must not be taken for its own.
  refuse(mistakes) {
    this.clear("This plan cannot be run as it stands.");
    byId("bar").dataset.worst = "mistake";
    fill(byId("mistakes"), h("ul", {}, mistakes.map((mistake) => h("li", {}, mistake.text))));
  }

  // Nothing is known of the plan in the controls, or not yet.
  clear(sentence) {
    byId("sentence").textContent = sentence;
    byId("bar").dataset.worst = "unknown";
    byId("findings-notes").hidden = true;
    for (const part of ["counts", "headlines", "findings", "mistakes", "notes"]) fill(byId(part));
    this.link(null);
  }

  // The pages of the plan that these findings are about.
  link(hash) {
    byId("pages").hidden = !hash;
    if (!hash) return;
    byId("read-findings").href = `findings/${hash}`;
    byId("save-findings").href = `findings/${hash}?download`;
    byId("read-summary").href = `findings/${hash}/summary`;
  }

  unfoldFirst(findings) {
    const first = findings.find((one) => one.verdict === "leaks");
    if (first) this.open.add(keyOf(first));
  }

  // The verdict before, if it was another one.
  wasOf(one) {
    const was = this.before.get(keyOf(one));
    return was === one.verdict ? undefined : was;
  }

  counts(findings) {
    const items = ORDER.map((verdict) => {
      const count = findings.filter((one) => one.verdict === verdict).length;
      return h("li", { class: count ? "" : "none" }, badge(verdict), ` ${count}`);
    });
    fill(byId("counts"), items);
  }

  group(name, findings) {
    const { by, target, against } = findings[0];
    const verdict = worst(findings);
    const heading = h("span", {}, h("strong", {}, by), ` ${CAN[verdict]} ${ABOUT[target]} of `, h("strong", {}, against));
    const working = findings.filter((one) => one.verdict !== "not applicable");
    const idle = findings.filter((one) => one.verdict === "not applicable");
    return h("article", { class: "group" }, h("h3", {}, badge(verdict), heading),
      working.map((one) => this.finding(one)), idle.length ? this.idle(name, idle) : null);
  }

  idle(name, findings) {
    const words = `${findings.length} ${findings.length === 1 ? "attack is" : "attacks are"} not applicable`;
    const remember = (event) => this.remember(name, event.target.open);
    return h("details", { class: "idle", open: this.open.has(name), ontoggle: remember },
      h("summary", {}, words), findings.map((one) => this.finding(one)));
  }

  remember(key, isOpen) {
    if (isOpen) this.open.add(key);
    else this.open.delete(key);
  }

  finding(one) {
    const key = keyOf(one);
    const was = this.wasOf(one);
    const body = h("div", { class: "body" });
    const summary = h("summary", {}, badge(one.verdict), h("span", { class: "attack" }, one.attack),
      h("span", { class: "why" }, one.why), was ? h("span", { class: "was" }, `was: ${was}`) : null);
    const element = h("details", { class: was ? "finding changed" : "finding", open: this.open.has(key) }, summary, body);
    Object.assign(element.dataset, { key, attack: one.attack, verdict: one.verdict });
    const unfold = () => {
      const reference = h("p", { class: "reference" }, one.reference);
      fill(body, h("p", {}, explained(one.why)), this.fixes(one), this.picture(one), reference);
    };
    element.addEventListener("toggle", (event) => {
      event.stopPropagation();
      this.remember(key, element.open);
      if (element.open && !body.hasChildNodes()) unfold();
    });
    if (this.open.has(key)) unfold();
    return element;
  }

  fixes(one) {
    if (!one.fix) return null;
    const apply = () => this.apply({ flags: one.fix, keys: one.changes });
    const button = h("button", { type: "button", class: "fix", onclick: apply }, "Apply ", h("code", {}, one.fix));
    return h("div", { class: "fixes" }, h("span", {}, "To stop it:"), button);
  }

  picture(one) {
    const figure = h("figure", { class: "sees" }, h("figcaption", {}, "Drawing what the attacker sees …"));
    post("explain", { draft: this.draft, attack: one.attack, by: one.by, target: one.target }).then(
      (told) => {
        const caption = h("figcaption", {}, h("strong", {}, `What ${one.by} sees. `), told.conclusion);
        fill(figure, h("p", { class: "story" }, explained(told.story)), drawn(told.svg), legend(told.svg), caption);
      },
      (error) => fill(figure, h("figcaption", {}, error.message)),
    );
    return figure;
  }
}

// By attacker and target, the worst group first.
function groups(findings) {
  const found = new Map();
  for (const one of findings) {
    const name = [one.by, one.target, one.against].join("|");
    found.set(name, [...(found.get(name) ?? []), one]);
  }
  const place = ([, some]) => ORDER.indexOf(worst(some));
  return [...found].sort((one, two) => place(one) - place(two));
}

function legend(svg) {
  const used = Object.entries(COLOURS).filter(([kind]) => svg.includes(`class="${kind}"`));
  const items = used.map(([kind, words]) => h("li", {}, h("span", { class: `swatch ${kind}` }), words));
  return h("ul", { class: "key" }, items);
}
