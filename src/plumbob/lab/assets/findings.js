// What `check` says about the plan in the controls: grouped by who could work out what, changes marked, fixes a click away.

import { post } from "./api.js";
import { badge, byId, drawn, fill, h } from "./dom.js";

const ORDER = ["leaks", "degrades", "blocked", "not applicable"];
const ABOUT = { labels: "the labels", scores: "the scores", features: "the columns" };
const CAN = {
  leaks: "will work out",
  degrades: "may find out something about",
  blocked: "is not shown to work out",
  "not applicable": "has nothing to work on against",
};
const COLOURS = { known: "known to the attacker", unknown: "not known", noisy: "under noise", "made-up": "made up by the attacker" };

const keyOf = (finding) => [finding.attack, finding.by, finding.against, finding.target].join("|");
const worst = (findings) => ORDER.find((verdict) => findings.some((one) => one.verdict === verdict));

export class Findings {
  constructor(apply) {
    this.apply = apply;
    this.before = new Map();
    this.open = new Set();
  }

  // `wish` is the plan that the answer is about: the controls may hold another one by now.
  show(answer, wish) {
    this.wish = wish;
    byId("findings").classList.remove("stale");
    fill(byId("mistakes"));
    const isFirst = this.before.size === 0;
    const changes = answer.findings.filter((one) => !isFirst && this.before.has(keyOf(one)) && this.before.get(keyOf(one)) !== one.verdict);
    this.counts(answer.findings);
    const told = changes.length ? ` ${changes.length} changed just now.` : "";
    byId("sentence").textContent = answer.summary + told;
    byId("bar").dataset.worst = worst(answer.findings) ?? "blocked";
    if (isFirst) {
      const first = answer.findings.find((one) => one.verdict === "leaks");
      if (first) this.open.add(keyOf(first));
    }
    fill(byId("findings"), groups(answer.findings).map(([name, findings]) => this.group(name, findings)));
    fill(byId("notes"), answer.notes.map((note) => h("li", {}, note)));
    this.before = new Map(answer.findings.map((one) => [keyOf(one), one.verdict]));
  }

  // The last findings stay, dimmed: they are about a plan that could be run.
  refuse(mistakes) {
    byId("sentence").textContent = "This plan cannot be run as it stands.";
    byId("bar").dataset.worst = "mistake";
    byId("findings").classList.add("stale");
    fill(byId("mistakes"), h("ul", {}, mistakes.map((mistake) => h("li", {}, mistake.text))));
  }

  counts(findings) {
    const count = (verdict) => findings.filter((one) => one.verdict === verdict).length;
    fill(byId("counts"), ORDER.map((verdict) => h("li", { class: count(verdict) ? "" : "none" }, badge(verdict), ` ${count(verdict)}`)));
  }

  group(name, findings) {
    const [by, target, against] = name.split("|");
    const working = findings.filter((one) => one.verdict !== "not applicable");
    const idle = findings.filter((one) => one.verdict === "not applicable");
    const rest = idle.length
      ? h("details", { class: "idle", open: this.open.has(name), ontoggle: (event) => this.remember(name, event.target.open) },
          h("summary", {}, `${idle.length} ${idle.length === 1 ? "attack has" : "attacks have"} nothing to work on`), idle.map((one) => this.finding(one)))
      : null;
    return h("article", { class: "group" },
      h("h3", {}, badge(worst(findings)), h("span", {}, h("strong", {}, by), ` ${CAN[worst(findings)]} ${ABOUT[target] ?? target} of `, h("strong", {}, against))),
      working.map((one) => this.finding(one)), rest);
  }

  remember(key, isOpen) {
    if (isOpen) this.open.add(key);
    else this.open.delete(key);
  }

  finding(one) {
    const key = keyOf(one);
    const was = this.before.get(key);
    const isNew = was !== undefined && was !== one.verdict;
    const body = h("div", { class: "body" });
    const element = h("details", { class: `finding${isNew ? " changed" : ""}`, open: this.open.has(key) },
      h("summary", {}, badge(one.verdict), h("span", { class: "attack" }, one.attack), h("span", { class: "why" }, one.why), isNew ? h("span", { class: "was" }, `was: ${was}`) : null), body);
    element.dataset.attack = one.attack;
    element.dataset.verdict = one.verdict;
    const unfold = () => fill(body, h("p", {}, one.why), this.fixes(one), this.picture(one), h("p", { class: "reference" }, one.reference));
    element.addEventListener("toggle", () => {
      this.remember(key, element.open);
      if (element.open && !body.hasChildNodes()) unfold();
    });
    if (this.open.has(key)) unfold();
    return element;
  }

  fixes(one) {
    if (!one.fixes.length) return null;
    const buttons = one.fixes.map((fix) => h("button", { type: "button", class: "fix", onclick: () => this.apply(fix) }, "Apply ", h("code", {}, fix.flags)));
    return h("div", { class: "fixes" }, h("span", {}, "To stop it:"), buttons);
  }

  picture(one) {
    const figure = h("figure", { class: "sees" }, h("figcaption", {}, "Drawing what the attacker sees …"));
    post("explain", { wish: this.wish, attack: one.attack, by: one.by }).then(
      (told) => {
        const caption = h("figcaption", {}, h("strong", {}, `What ${one.by} sees. `), told.conclusion);
        fill(figure, h("p", { class: "story" }, told.story), drawn(told.svg), legend(told.svg), caption);
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
  return [...found].sort((one, two) => ORDER.indexOf(worst(one[1])) - ORDER.indexOf(worst(two[1])));
}

function legend(svg) {
  const used = Object.entries(COLOURS).filter(([kind]) => svg.includes(`class="${kind}"`));
  return h("ul", { class: "key" }, used.map(([kind, words]) => h("li", {}, h("span", { class: `swatch ${kind}` }), words)));
}
