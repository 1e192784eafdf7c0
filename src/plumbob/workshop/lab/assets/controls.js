// The plan in controls: sliders for what one plays with, selects for choices, the rest of the keys behind a fold.

import { byId, fill, h } from "./dom.js";
import { amount, choice, put, slider, tick, words } from "./fields.js";
import { Parties } from "./parties.js";

const SAYINGS = {
  protocol: {
    clear: "No cryptography; each party gets its own gradient. For research.",
    exchange: "Encrypted. Each party sees its own gradient in every step.",
    arbiter: "A third party holds the key. Each party sees its own gradient.",
    shares: "Encrypted and shared. Nobody sees a gradient, and the weights stay shared unless you open them.",
  },
  noise: {
    none: "",
    std: "A given amount on every residual.",
    heuristic: "The paper’s formula: heuristic, by its own words.",
    sound: "Calibrated: every label has this epsilon and delta.",
  },
  batches: {
    reshuffled: "Learns best and, outside shares, leaks most.",
    fixed: "The same rows together in every epoch.",
    full: "One batch of everybody.",
  },
};
const TITLES = {
  start: "Starting weights",
  noise_std: "Noise, standard deviation",
  row_norm: "Rows clipped to norm",
  open: "Weights at the end",
  label_flip_epsilon: "Flipped labels, epsilon",
  l2: "L2 penalty",
};
const TRAINING = ["batch_size", "epochs", "batches", "start"];
const PROTECTION = ["protocol", "open", "replies", "noise", "epsilon", "delta", "noise_std", "row_norm"];
const hasBudget = (keys) => ["sound", "heuristic"].includes(keys.noise);
const IN_SIGHT_IF = {
  batch_size: (keys) => keys.batches !== "full",
  open: (keys) => keys.protocol === "shares",
  replies: (keys) => !["shares", "clear"].includes(keys.protocol),
  noise: (keys) => keys.protocol !== "shares" || keys.noise !== "none",
  epsilon: hasBudget,
  delta: hasBudget,
  noise_std: (keys) => keys.noise === "std",
  row_norm: (keys) => keys.noise !== "none" || keys.row_norm > 0,
};
// What a plan would refuse to have beside a choice is put right with it; the controls show that it changed.
const ALONG = {
  protocol: (keys) => {
    if (keys.protocol !== "shares") return { open: "own" };
    // Coming back to shares, weights stay shared again: no choice may weaken another one silently.
    return { open: "never", noise: "none", noise_std: 0, replies: keys.replies === "paper" ? "packed" : keys.replies };
  },
  noise: (keys) => ({
    noise_std: keys.noise === "std" ? keys.noise_std || 1 : 0,
    row_norm: keys.noise === "none" ? keys.row_norm : keys.row_norm || 1,
  }),
};
const MOST_EPOCHS = 200;

const titleOf = (name) => {
  const spaced = name.replaceAll("_", " ");
  return TITLES[name] ?? spaced[0].toUpperCase() + spaced.slice(1);
};

export class Controls {
  constructor(start, changed) {
    this.data = start.data;
    this.changed = changed;
    this.fields = new Map();
    this.parties = new Parties(() => this.state, () => this.dataset?.columns, () => this.update());
    this.build(start.controls);
  }

  get wish() {
    return structuredClone(this.state);
  }

  get dataset() {
    return this.data.find((one) => one.name === this.state.data);
  }

  get rows() {
    return this.dataset?.rows ?? this.state.rows;
  }

  // Another plan in all controls at once.
  hold(wish) {
    this.state = structuredClone(wish);
    this.update();
  }

  // Some keys, and what goes along with them.
  set(keys) {
    const held = this.state.keys;
    Object.assign(held, keys);
    for (const [name, along] of Object.entries(ALONG)) if (name in keys) Object.assign(held, along(held), keys);
    this.update();
  }

  update() {
    this.show();
    this.changed();
  }

  build(keys) {
    const upFront = [...TRAINING, ...PROTECTION, "title"];
    const named = (names) => names.map((name) => this.field(keys.find((key) => key.name === name)));
    const others = keys.filter((key) => !upFront.includes(key.name)).map((key) => key.name);
    fill(byId("controls"),
      h("fieldset", {}, h("legend", {}, "Data and parties"), this.dataFields(), this.parties.element),
      h("fieldset", {}, h("legend", {}, "Training"), named(TRAINING)),
      h("fieldset", {}, h("legend", {}, "Protection"), named(PROTECTION)),
      h("details", { class: "more" }, h("summary", {}, "Every other key of the plan"),
        named(["title"]), this.parties.names, named(others)));
  }

  dataFields() {
    const options = this.data.map((one) => {
      const size = `${one.rows.toLocaleString("en")} × ${one.columns}`;
      const words = `${one.name} (${one.is_here ? size : "not here: PLUMBOB_DATA"})`;
      return h("option", { value: one.name, disabled: !one.is_here }, words);
    });
    const none = h("option", { value: "" }, "none, only the numbers");
    this.dataSelect = h("select", { id: "data", onchange: () => this.choose(this.dataSelect.value) }, options, none);
    const count = () => {
      this.state.rows = Math.round(Number(this.rowsInput.value));
      this.update();
    };
    this.rowsInput = h("input", { id: "rows", type: "number", min: "1", max: "10000000", oninput: count });
    this.rowsField = h("div", { class: "field" }, h("label", { for: "rows" }, "Rows"), this.rowsInput);
    return [h("div", { class: "field" }, h("label", { for: "data" }, "Data set"), this.dataSelect), this.rowsField];
  }

  choose(name) {
    const before = this.state.features.reduce((sum, count) => sum + count, 0);
    this.state.data = name;
    if (this.dataset) {
      this.state.rows = this.rows;
      this.state.keys.batch_size = Math.min(this.state.keys.batch_size, this.rows);
      this.parties.fit(before, this.dataset.columns);
    }
    this.update();
  }

  field(key) {
    const set = (value) => this.set({ [key.name]: value });
    let kind = key.kind === "bool" ? tick : key.kind === "str" ? words : amount;
    if (key.choices.length) kind = choice;
    if (["batch_size", "epochs"].includes(key.name)) kind = slider;
    const field = kind(key, titleOf(key.name), set, SAYINGS[key.name]);
    this.fields.set(key.name, field);
    return field.element;
  }

  show() {
    const { keys } = this.state;
    this.dataSelect.value = this.state.data;
    this.rowsField.hidden = Boolean(this.dataset);
    put(this.rowsInput, this.rows);
    this.parties.show();
    const most = { batch_size: this.rows, epochs: Math.max(MOST_EPOCHS, keys.epochs) };
    for (const [name, field] of this.fields) {
      field.show(keys[name], most[name]);
      field.element.hidden = IN_SIGHT_IF[name] ? !IN_SIGHT_IF[name](keys) : false;
    }
  }

  // Each mistake beside the control that it is about.
  mark(mistakes) {
    for (const [name, field] of this.fields) {
      field.complain(mistakes.find((mistake) => mistake.key === name)?.text ?? "");
    }
  }
}
