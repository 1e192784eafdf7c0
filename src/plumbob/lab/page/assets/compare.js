// All runs of this lab beside one another; two of them, chosen, with what differs in their plans.

import { get } from "./api.js";
import { badge, byId, drawn, fill, h, number } from "./dom.js";

const NONE = "None yet. A run is kept as a folder, with its record, its plan and its report.";
const CAPTION =
  "Tick two to see what differs. Beside a verdict: how much of what was unknown the best attack found out.";
const HEADS = ["", "run", "protocol", "noise", "AUC", "labels", "columns and scores", "seconds", "files"];

export class Compare {
  constructor(use) {
    this.use = use;
    this.chosen = [];
  }

  async refresh() {
    const { runs, chart } = await get("runs");
    this.runs = runs;
    this.chart = chart;
    this.chosen = this.chosen.filter((name) => runs.some((run) => run.name === name));
    this.show();
  }

  show() {
    if (!this.runs.length) {
      fill(byId("runs"), h("p", { class: "hint" }, NONE));
      return;
    }
    const chart = h("div", { id: "comparison" }, drawn(this.chart));
    const table = tableOf(HEADS, this.runs.map((run) => this.line(run)), "Runs", CAPTION);
    fill(byId("runs"), chart, table, this.differences());
    globalThis.plumbobCharts();
  }

  line(run) {
    const toggle = () => this.pick(run.name);
    const isChosen = this.chosen.includes(run.name);
    const pick = h("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, checked: isChosen, onchange: toggle });
    const name = h("th", { scope: "row" }, h("strong", {}, run.name === "opened" ? run.folder : run.name),
      run.title ? h("span", { class: "title" }, run.title) : null,
      run.is_finished ? null : h("span", { class: "title" }, run.status));
    const how = run.is_calculated ? `${run.protocol}, calculated` : run.protocol;
    const cells = [how, run.noise, number(run.auc), reach(run.labels), reach(run.values), number(run.seconds, 1)];
    const row = h("tr", {}, h("td", { class: "pick" }, pick), name, cells.map((cell, at) => h("td", { "data-head": HEADS[at + 2] }, cell)), this.links(run));
    row.dataset.run = run.name;
    return row;
  }

  links(run) {
    const at = `runs/${run.name}`;
    const report = [
      h("a", { href: `${at}/summary.html`, target: "_blank", rel: "noopener" }, "decision sheet"),
      h("a", { href: `${at}/report`, target: "_blank", rel: "noopener" }, "report"),
      h("a", { href: `${at}/report?download`, download: "", "aria-label": `Save the report of ${run.name}` }, "save"),
    ];
    const use = h("button", { type: "button", class: "quiet", onclick: () => this.use(run.plan) }, "use its plan");
    const plan = h("a", { href: `${at}/plan`, download: "" }, "plan");
    return h("td", { "data-head": "files" }, h("div", { class: "links" }, run.has_report ? report : [], plan, use));
  }

  pick(name) {
    const others = this.chosen.filter((one) => one !== name);
    this.chosen = others.length < this.chosen.length ? others : [...others.slice(-1), name];
    this.show();
    // What had the focus is a new element now.
    document.querySelector(`[data-run="${CSS.escape(name)}"] input`).focus();
  }

  differences() {
    if (this.chosen.length !== 2) return null;
    const [one, two] = this.chosen.map((name) => this.runs.find((run) => run.name === name));
    const [first, second] = [valuesOf(one), valuesOf(two)];
    const differing = Object.keys(first).filter((key) => String(first[key]) !== String(second[key]));
    const lines = differing.map((key) =>
      h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, String(first[key])), h("td", {}, String(second[key]))));
    const found = lines.length ? tableOf(["key", one.name, two.name], lines, "Differences") : h("p", {}, "Nothing.");
    return h("div", { id: "differences", "aria-live": "polite" }, h("h3", {}, "What differs in their plans"), found);
  }
}

function tableOf(heads, lines, name, caption) {
  const head = h("thead", {}, h("tr", {}, heads.map((word) => (word ? h("th", { scope: "col" }, word) : h("td", { class: "pick" })))));
  const table = h("table", { class: "stacked", "aria-label": name }, caption ? h("caption", {}, caption) : null, head, h("tbody", {}, lines));
  return table;
}

function valuesOf({ plan }) {
  const parties = plan.names.map((name, place) => `${name} ${plan.features[place]}`).join(", ");
  return { parties, rows: plan.rows, ...plan.keys };
}

function reach(worst) {
  if (worst === null) return "–";
  const share = ` ${number(100 * worst.advantage, 0)} %`;
  return h("span", {}, badge(worst.verdict), worst.verdict === "not applicable" ? "" : share);
}
