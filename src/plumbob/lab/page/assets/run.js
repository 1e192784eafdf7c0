// One run, live: what it will cost, the button, how training goes, and each attack's result as it is scored.

import { get, post } from "./api.js";
import { badge, byId, drawn, duration, fill, h, number } from "./dom.js";
import { ORDER } from "./findings.js";

const CALCULATED =
  "The parties see the same, in seconds. Nothing is encrypted, and attacks that tamper with messages are left out.";
const NO_DATA = "Choose data to run this plan; numbers alone can only be checked.";
const NO_CURVE = " Under shares nobody knows the weights before the end, so there is no curve to draw.";

export class RunPanel {
  constructor(draft, finished) {
    this.draft = draft;
    this.finished = finished;
    this.build();
  }

  build() {
    this.realTitle = h("strong", {}, "As the plan says");
    this.real = option("real", this.realTitle, true);
    this.calculated = option("calculated", h("strong", {}, "Calculated in the clear"), false);
    this.calculated.words.textContent = CALCULATED;
    this.button = h("button", { type: "button", id: "start", class: "main", onclick: () => this.start() });
    this.stop = h("button", { type: "button", id: "cancel", hidden: true, onclick: () => this.cancel() }, "Cancel");
    this.status = h("p", { class: "status", id: "run-status", role: "status", "aria-live": "polite" });
    this.bar = h("progress", { id: "progress", "aria-label": "Progress", hidden: true });
    this.curve = h("div", { id: "curve" });
    this.quality = h("p", { class: "quality" });
    this.results = h("ul", { class: "results", id: "results", "aria-label": "What the attacks reached" });
    this.idle = h("ul", { class: "results" });
    this.idleCount = h("summary");
    this.idleFold = h("details", { hidden: true }, this.idleCount, this.idle);
    fill(byId("run"),
      h("fieldset", { class: "options" }, h("legend", {}, "How"), this.real.element, this.calculated.element),
      h("div", { class: "row" }, this.button, this.stop), this.status, this.bar,
      h("div", { class: "live" }, h("div", {}, this.curve, this.quality), h("div", {}, this.results, this.idleFold)));
    this.showButton();
  }

  // The plan changed: its cost is asked for, and a plan that cannot run has no button. `keys` says what encrypts it.
  async offer(signal, draft, isFit, keys) {
    const { protocol } = draft.keys;
    this.isFit = isFit && draft.data !== "";
    this.calculated.element.hidden = protocol === "clear";
    if (protocol === "clear") this.real.input.checked = true;
    this.realTitle.textContent = `As the plan says: ${[protocol, keys].filter(Boolean).join(", ")}`;
    this.showButton();
    // Only its own words are taken back: an answer that comes late must not wipe out how the last run ended.
    const isSilent = ["", NO_DATA].includes(this.status.textContent);
    if (!this.source && isFit && (isSilent || !draft.data)) this.status.textContent = draft.data ? "" : NO_DATA;
    if (!isFit) {
      this.say("A plan that cannot be run costs nothing.");
      return;
    }
    this.say("Measuring this machine …");
    const cost = await post("estimate", draft, signal);
    const time = `About ${duration(cost.minutes * 60)} of training (${cost.steps.toLocaleString("en")} steps)`;
    const sizes = `${number(cost.megabytes_sent, 1)} MB sent, ${number(cost.peak_memory_mib, 0)} MiB of memory`;
    this.say(`${time}, ${sizes}; then the attacks.`);
  }

  say(text) {
    this.real.words.textContent = text;
  }

  showButton() {
    const isBusy = Boolean(this.source);
    this.button.disabled = isBusy || !this.isFit;
    this.button.textContent = isBusy ? "A run is under way" : "Train and attack";
    this.stop.hidden = !isBusy;
  }

  async start() {
    this.button.disabled = true;
    const isCalculated = this.calculated.input.checked && !this.calculated.element.hidden;
    try {
      const { name } = await post("runs", { draft: this.draft(), is_calculated: isCalculated });
      this.watch(name);
    } catch (error) {
      this.status.textContent = error.message;
      this.showButton();
    }
  }

  async cancel() {
    this.stop.disabled = true;
    this.status.textContent = "Cancelling …";
    try {
      await post("cancel", {});
    } finally {
      this.stop.disabled = false;
    }
  }

  // The browser connects again by itself, and says which event it heard last.
  watch(name) {
    for (const part of [this.results, this.idle, this.curve]) fill(part);
    this.idleFold.hidden = true;
    this.quality.textContent = "";
    this.name = name;
    this.bar.hidden = false;
    this.bar.removeAttribute("value");
    this.source = new EventSource(`runs/${name}/events`);
    this.showButton();
    const on = (kind, work) => this.source.addEventListener(kind, (event) => work(JSON.parse(event.data)));
    on("stage", (told) => (this.status.textContent = `${told.text} …`));
    on("step", (told) => this.step(told));
    on("epoch", () => this.drawCurve());
    on("quality", (told) => this.showQuality(told));
    on("attack", (told) => this.attack(told));
    on("finding", (told) => this.result(told));
    for (const end of ["done", "failed", "cancelled"]) on(end, (told) => this.end(end, told.text));
    this.source.addEventListener("error", () => {
      if (this.source?.readyState === EventSource.CLOSED) this.end("failed", "The lab does not answer any more.");
    });
  }

  step(told) {
    this.bar.max = told.steps;
    this.bar.value = told.step;
    const left = `about ${duration(told.seconds_left)} left`;
    this.status.textContent = `Step ${told.step} of ${told.steps}, epoch ${told.epoch}; ${left}.`;
  }

  async drawCurve() {
    const { chart } = await get(`runs/${this.name}/curve`);
    fill(this.curve, drawn(chart));
    globalThis.plumbobCharts();
  }

  showQuality(told) {
    const models = Object.entries(told.models).map(([name, values]) => `${name} ${number(values.auc)}`);
    const curve = this.name.endsWith("-shares") ? NO_CURVE : "";
    this.quality.textContent = `AUC on the ${told.rows}: ${models.join(", ")}.${curve}`;
  }

  attack(told) {
    this.bar.max = told.attacks;
    this.bar.value = told.number - 1;
    this.status.textContent = `Attack ${told.number} of ${told.attacks}: ${told.name} …`;
  }

  // The worst stays on top; what is not applicable is folded away.
  result(told) {
    const share = number(100 * Math.max(0, told.advantage ?? 0), 0);
    const reached = told.advantage === null ? "" : `${share} % of what was unknown`;
    const whose = ` by ${told.by}, ${told.target} of ${told.against}`;
    const about = h("span", {}, h("strong", {}, told.attack), whose, h("em", {}, reached));
    const item = h("li", {}, badge(told.verdict), about, h("small", {}, told.why));
    item.dataset.verdict = told.verdict;
    if (told.verdict === "not applicable") {
      this.idle.append(item);
      this.idleFold.hidden = false;
      this.idleCount.textContent = `${this.idle.children.length} not applicable`;
      return;
    }
    const rank = (element) => ORDER.indexOf(element.dataset.verdict);
    const after = [...this.results.children].find((other) => rank(other) > rank(item));
    this.results.insertBefore(item, after ?? null);
  }

  end(kind, text) {
    this.source.close();
    this.source = null;
    this.bar.hidden = true;
    this.status.textContent = text;
    const report = h("a", { href: `runs/${this.name}/report`, target: "_blank", rel: "noopener" }, "Read the report");
    const summary = h("a", { href: `runs/${this.name}/summary.html`, target: "_blank", rel: "noopener" }, "Decision sheet");
    if (kind === "done") this.status.append(" ", report, " ", summary);
    this.showButton();
    this.finished();
  }
}

function option(value, title, isChosen) {
  const words = h("span", { class: "cost" }, "…");
  const input = h("input", { type: "radio", name: "way", value, checked: isChosen });
  return { input, words, element: h("label", { class: "option" }, input, h("span", {}, title, words)) };
}
