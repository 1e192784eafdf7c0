// All runs of this lab beside one another; two of them, chosen, with what their plans do not have in common.

import { get } from "./api.js";
import { badge, byId, drawn, fill, h, number } from "./dom.js";

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
      fill(byId("runs"), h("p", { class: "hint" }, "None yet. A run is kept as a folder, with its record, its plan and its report."));
      return;
    }
    const heads = ["", "run", "protocol", "noise", "AUC", "labels", "columns and scores", "seconds", ""];
    const table = h("table", {}, h("caption", {}, "Choose two to see what differs. Beside a verdict: the part of what was unknown that the best attack found out."),
      h("thead", {}, h("tr", {}, heads.map((word) => h("th", { scope: "col" }, word)))), h("tbody", {}, this.runs.map((run) => this.line(run))));
    fill(byId("runs"), h("div", { id: "comparison" }, drawn(this.chart)), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" }, table), this.differences());
    globalThis.plumbobCharts();
  }

  line(run) {
    const pick = h("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, checked: this.chosen.includes(run.name), onchange: () => this.pick(run.name) });
    const name = [h("strong", {}, run.name === "opened" ? run.folder : run.name), run.title ? h("span", { class: "title" }, run.title) : null, run.is_finished ? null : h("span", { class: "title" }, run.status)];
    const how = run.is_calculated ? `${run.protocol}, calculated` : run.protocol;
    const links = [
      run.has_report ? h("a", { href: `runs/${run.name}/report`, target: "_blank", rel: "noopener" }, "report") : null,
      run.has_report ? h("a", { href: `runs/${run.name}/report?download`, download: "" }, "download") : null,
      h("a", { href: `runs/${run.name}/plan`, download: "" }, "plan"),
      h("button", { type: "button", class: "quiet", onclick: () => this.use(run.plan) }, "use its plan"),
    ];
    const row = h("tr", {}, h("td", {}, pick), h("th", { scope: "row" }, name), h("td", {}, how), h("td", {}, run.noise), h("td", {}, number(run.auc)),
      h("td", {}, reach(run.labels)), h("td", {}, reach(run.values)), h("td", {}, number(run.seconds, 1)), h("td", { class: "links" }, links));
    row.dataset.run = run.name;
    return row;
  }

  pick(name) {
    this.chosen = this.chosen.includes(name) ? this.chosen.filter((one) => one !== name) : [...this.chosen.slice(-1), name];
    this.show();
    document.querySelector(`[data-run="${CSS.escape(name)}"] input`).focus();
  }

  differences() {
    if (this.chosen.length !== 2) return null;
    const [one, two] = this.chosen.map((name) => this.runs.find((run) => run.name === name));
    const values = (run) => ({ parties: run.plan.names.map((name, place) => `${name} ${run.plan.features[place]}`).join(", "), rows: run.plan.rows, ...run.plan.keys });
    const [first, second] = [values(one), values(two)];
    const differing = Object.keys(first).filter((key) => JSON.stringify(first[key]) !== JSON.stringify(second[key]));
    const lines = differing.map((key) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, String(first[key])), h("td", {}, String(second[key]))));
    const head = h("tr", {}, ["key", one.name, two.name].map((word) => h("th", { scope: "col" }, word)));
    return h("div", { id: "differences", "aria-live": "polite" }, h("h3", {}, "What differs in their plans"),
      differing.length ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" }, h("table", {}, h("thead", {}, head), h("tbody", {}, lines))) : h("p", {}, "Nothing: the same plan twice."));
  }
}

function reach(worst) {
  if (worst === null) return "–";
  return worst.verdict === "not applicable" ? badge(worst.verdict) : [badge(worst.verdict), ` ${number(100 * worst.advantage, 0)} %`];
}
