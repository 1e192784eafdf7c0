// The plan in controls: sliders for what people change most, selects for choices, the rest of the keys behind a fold.

import { byId, fill, h } from "./dom.js";
import { amount, choice, put, slider, tick, words } from "./fields.js";
import { explained } from "./glossary.js";
import { Parties } from "./parties.js";
import { OWN } from "./tables.js";

const SAYINGS = {
  protocol: {
    clear: "No cryptography; each party gets its own gradient. For research.",
    exchange: "Encrypted. Each party sees its own gradient in every step.",
    arbiter: "A third party holds the key. Each party sees its own gradient.",
    shares: "Encrypted, and kept in shares. Nobody sees a gradient; the weights stay in shares unless you open them.",
  },
  noise: {
    none: "",
    rows: "Protects whole rows, by this epsilon and delta. For shares.",
    std: "A given amount on every residual.",
    heuristic: "The paper’s formula, which the paper itself calls heuristic.",
    sound: "Protects single labels, by this epsilon and delta; nothing else.",
  },
  batches: {
    reshuffled: "New batches in every epoch. Outside shares they leak most.",
    fixed: "The same rows together in every epoch.",
    full: "One batch of all rows: each step is one pass.",
  },
  open: {
    never: "The weights stay in shares; predictions are made on shares.",
    own: "Each party gets its own weights: one more equation about labels for each of its columns.",
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
const hasBudget = (keys) => ["rows", "sound", "heuristic"].includes(keys.noise);
const IN_SIGHT_IF = {
  batch_size: (keys) => keys.batches !== "full",
  open: (keys) => keys.protocol === "shares",
  replies: (keys) => !["shares", "clear"].includes(keys.protocol),
  epsilon: hasBudget,
  delta: hasBudget,
  noise_std: (keys) => keys.noise === "std",
  row_norm: (keys) => keys.noise !== "none" || keys.row_norm > 0,
};
// What a kind of noise cannot do without is set with it, and said on the page. Protection is never taken back this way.
const ALONG_WITH_NOISE = (keys) => ({
  noise_std: keys.noise === "std" ? keys.noise_std || 1 : 0,
  row_norm: ["none", "rows"].includes(keys.noise) ? keys.row_norm : keys.row_norm || 1,
});
// Of own tables: what the public rule says where it is asked, and the share of rows that a model is judged on.
const ENCODING = ["bins", "plain", "missing", "categorical", "l2"];
const TEST_SHARE = 0.2;
const MOST_EPOCHS = 200;

const titleOf = (name) => {
  const spaced = name.replaceAll("_", " ");
  return TITLES[name] ?? spaced[0].toUpperCase() + spaced.slice(1);
};

export class Controls {
  // `changed` is called after every change; `alongside` with the draft before it, where one choice changed other keys.
  constructor(start, changed, alongside) {
    Object.assign(this, { data: start.data, fitted: start.fitted, changed, alongside });
    this.fields = new Map();
    const columns = { fixed: () => this.dataset?.columns, isGiven: () => this.state.data === OWN };
    this.parties = new Parties(() => this.state, columns, () => this.update());
    this.build(start.controls);
  }

  get draft() {
    return structuredClone(this.state);
  }

  get dataset() {
    return this.data.find((one) => one.name === this.state.data);
  }

  get rows() {
    return this.dataset?.rows ?? this.state.rows;
  }

  // Another plan in all controls at once.
  hold(draft) {
    this.state = structuredClone(draft);
    this.update();
  }

  // Some keys, and what goes along with them.
  set(keys) {
    const before = this.draft;
    const held = this.state.keys;
    // Whoever says how columns are encoded has chosen.
    if (ENCODING.some((name) => name in keys)) this.state.reading.by_rule = false;
    const along = this.along(keys);
    Object.assign(held, along, keys);
    if ("noise" in keys) Object.assign(along, ALONG_WITH_NOISE(held));
    Object.assign(held, along, keys);
    this.update();
    const moved = Object.keys(along).filter((name) => !(name in keys) && held[name] !== before.keys[name]);
    this.alongside(before, moved.map((name) => `${name} = ${held[name]}`));
  }

  // With another protocol, what was only the old one's default becomes the new one's, as in a plan's file.
  along(keys) {
    const held = this.state.keys;
    if (!("protocol" in keys)) return {};
    const old = this.fitted[held.protocol];
    const changed = {};
    for (const [name, value] of Object.entries(this.fitted[keys.protocol])) {
      if (held[name] === old[name]) changed[name] = value;
    }
    return changed;
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
    const own = h("option", { value: OWN }, "your own tables");
    const none = h("option", { value: "" }, "none, only the numbers");
    this.dataSelect = h("select", { id: "data", onchange: () => this.choose(this.dataSelect.value) }, options, own, none);
    const count = () => {
      this.state.rows = this.rowsInput.value === "" ? "" : Math.round(Number(this.rowsInput.value));
      this.update();
    };
    this.rowsInput = h("input", { id: "rows", type: "number", min: "1", max: "10000000", oninput: count });
    this.rowsField = h("div", { class: "field" }, h("label", { for: "rows" }, "Rows"), this.rowsInput);
    return [h("div", { class: "field" }, h("label", { for: "data" }, "Data"), this.dataSelect), this.rowsField];
  }

  choose(name) {
    const { state } = this;
    const before = state.features.reduce((sum, count) => sum + count, 0);
    // What own tables are encoded by is not for a data set, whose columns are numbers already.
    if (state.data === OWN) Object.assign(state.keys, this.beforeOwn);
    state.data = name;
    if (this.dataset) {
      state.rows = this.rows;
      state.keys.batch_size = Math.min(state.keys.batch_size, this.rows);
      this.parties.fit(before, this.dataset.columns);
    }
    if (name === OWN) {
      this.beforeOwn = Object.fromEntries([...ENCODING, "test_share"].map((key) => [key, state.keys[key]]));
      state.keys.test_share ||= TEST_SHARE;
    }
    this.update();
  }

  // What the lab counted in own tables, and how the public rule encodes them.
  count(tables) {
    if (!tables?.widths.length) return;
    Object.assign(this.state, { features: [...tables.widths], rows: tables.rows });
    Object.assign(this.state.keys, tables.keys);
    this.show();
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
    this.rowsInput.disabled = this.state.data === OWN;
    put(this.rowsInput, this.rows);
    this.parties.show();
    const most = { batch_size: Number(this.rows), epochs: Math.max(MOST_EPOCHS, keys.epochs) };
    for (const [name, field] of this.fields) {
      field.show(keys[name], most[name]);
      field.element.hidden = IN_SIGHT_IF[name] ? !IN_SIGHT_IF[name](keys) : false;
    }
  }

  // How many passes the public rule makes, where nobody said a number.
  tell(passes) {
    const { element, hint } = this.fields.get("epochs");
    if (this.state.keys.epochs !== 0 || !passes || element.dataset.passes === String(passes)) return;
    element.dataset.passes = String(passes);
    fill(hint, explained(`Passes over the rows. 0 means the public rule, here ${passes}.`));
  }

  // Each mistake beside the control that it is about.
  mark(mistakes) {
    for (const [name, field] of this.fields) {
      field.complain(mistakes.find((mistake) => mistake.key === name)?.text ?? "");
    }
  }
}
