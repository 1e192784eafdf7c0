// The plan in controls: sliders for what one plays with, selects for choices, the rest of the keys behind a fold.

import { h, fill, byId } from "./dom.js";

const SAYINGS = {
  protocol: {
    clear: "No cryptography; each party gets its own gradient. For research.",
    exchange: "Encrypted. Each party sees its own gradient in every step.",
    arbiter: "A third party holds the key. Each party sees its own gradient.",
    shares: "Encrypted and shared. Nobody sees a gradient; weights are opened at the end.",
  },
  noise: {
    none: "",
    std: "A given amount on every residual.",
    heuristic: "The paper’s formula: heuristic, by its own words.",
    sound: "Calibrated: every label has this epsilon and delta.",
  },
  batches: { reshuffled: "Learns best and, outside shares, leaks most.", fixed: "The same rows together in every epoch.", full: "One batch of everybody." },
};
const TITLES = {
  batch_size: "Batch size",
  epochs: "Epochs",
  batches: "Batches",
  start: "Starting weights",
  protocol: "Protocol",
  noise: "Noise",
  noise_std: "Noise, standard deviation",
  epsilon: "Epsilon",
  delta: "Delta",
  row_norm: "Rows clipped to norm",
  open: "Weights at the end",
  replies: "Replies",
  label_flip_epsilon: "Flipped labels, epsilon",
  title: "Title",
};
const UP_FRONT = ["title", "batch_size", "epochs", "batches", "start", "protocol", "open", "replies", "noise", "epsilon", "delta", "noise_std", "row_norm"];
const SHOWN_IF = {
  batch_size: (keys) => keys.batches !== "full",
  open: (keys) => keys.protocol === "shares",
  replies: (keys) => keys.protocol !== "shares" && keys.protocol !== "clear",
  noise: (keys) => keys.protocol !== "shares" || keys.noise !== "none",
  epsilon: (keys) => ["sound", "heuristic"].includes(keys.noise),
  delta: (keys) => ["sound", "heuristic"].includes(keys.noise),
  noise_std: (keys) => keys.noise === "std",
  row_norm: (keys) => keys.noise !== "none" || keys.row_norm > 0,
};
// What a plan would refuse to have beside a choice is put right with it; the controls show that it changed.
const ALONG = {
  protocol: (keys) =>
    keys.protocol === "shares" ? { noise: "none", noise_std: 0, replies: keys.replies === "paper" ? "packed" : keys.replies } : { open: "own" },
  noise: (keys) => ({
    noise_std: keys.noise === "std" ? keys.noise_std || 1 : 0,
    row_norm: keys.noise === "none" ? keys.row_norm : keys.row_norm || 1,
  }),
};
const MOST_EPOCHS = 200;
const NAMES = ["bank", "fund", "shop", "clinic"];

export class Controls {
  constructor(start, changed) {
    this.data = start.data;
    this.keys = start.controls;
    this.changed = changed;
    this.fields = new Map();
    this.build();
  }

  get wish() {
    return structuredClone(this.state);
  }

  // Another plan in all controls at once.
  hold(wish) {
    this.state = structuredClone(wish);
    this.show();
    this.changed();
  }

  set(keys) {
    Object.assign(this.state.keys, keys);
    for (const [name, along] of Object.entries(ALONG)) if (name in keys) Object.assign(this.state.keys, { ...along(this.state.keys), ...keys });
    this.show();
    this.changed();
  }

  get columns() {
    return this.dataset?.columns ?? this.state.features.reduce((sum, count) => sum + count, 0);
  }

  get dataset() {
    return this.data.find((one) => one.name === this.state.data);
  }

  get rows() {
    return this.dataset?.rows ?? this.state.rows;
  }

  build() {
    const others = this.keys.filter((key) => !UP_FRONT.includes(key.name));
    const named = (names) => names.map((name) => this.field(this.keys.find((key) => key.name === name)));
    fill(
      byId("controls"),
      h("fieldset", {}, h("legend", {}, "Data and parties"), this.dataField(), (this.split = h("div", { class: "split" }))),
      h("fieldset", {}, h("legend", {}, "Training"), named(["batch_size", "epochs", "batches", "start"])),
      h("fieldset", {}, h("legend", {}, "Protection"), named(["protocol", "open", "replies", "noise", "epsilon", "delta", "noise_std", "row_norm"])),
      h("details", { class: "more" }, h("summary", {}, "Every other key of the plan"), named(["title"]), (this.names = h("div")), others.map((key) => this.field(key))),
    );
  }

  dataField() {
    const options = this.data.map((one) =>
      h("option", { value: one.name, disabled: !one.is_here }, one.is_here ? `${one.name}: ${one.rows.toLocaleString("en")} rows, ${one.columns} columns` : `${one.name}: not on this machine (PLUMBOB_DATA)`),
    );
    this.dataSelect = h("select", { id: "data", onchange: () => this.chooseData(this.dataSelect.value) }, options, h("option", { value: "" }, "no data: only the numbers"));
    this.rowsInput = h("input", { id: "rows", type: "number", min: "1", max: "10000000", oninput: () => this.change(() => (this.state.rows = Math.round(Number(this.rowsInput.value)))) });
    this.rowsField = h("div", { class: "field" }, h("label", { for: "rows" }, "Rows"), this.rowsInput);
    return [h("div", { class: "field" }, h("label", { for: "data" }, "Data set"), this.dataSelect), this.rowsField];
  }

  chooseData(name) {
    const before = this.columns;
    this.state.data = name;
    if (this.dataset) {
      this.state.rows = this.rows;
      this.state.features = scaled(this.state.features, before, this.columns);
      this.state.keys.batch_size = Math.min(this.state.keys.batch_size, this.rows);
    }
    this.show();
    this.changed();
  }

  // One party's columns each; the last party of a data set has what is left.
  showSplit() {
    const { features, names } = this.state;
    const isFixed = Boolean(this.dataset);
    const bar = h("div", { class: "shares", "aria-hidden": "true" }, features.map((count, place) => {
      const part = h("span", { class: `part part-${place}` }, `${count}`);
      part.style.flexGrow = String(count);
      return part;
    }));
    const sliders = features.map((count, place) => {
      const isLast = isFixed && place === features.length - 1;
      const id = `columns-${place}`;
      const most = isFixed ? this.columns - (features.length - 1 - place) : Math.max(1000, count);
      const words = h("label", { for: id }, h("span", { class: `swatch part-${place}` }), `${names[place]}: ${place === 0 ? "label and columns" : "columns"}`);
      const move = (value) => this.move(place, Math.max(place === 0 ? 0 : 1, Math.round(Number(value))));
      return h("div", { class: "field slider" }, words,
        h("input", { id, type: "range", min: place === 0 ? "0" : "1", max: String(most), value: String(count), disabled: isLast, oninput: (event) => move(event.target.value) }),
        h("input", { type: "number", "aria-label": `${names[place]}: columns`, min: place === 0 ? "0" : "1", max: String(most), value: String(count), disabled: isLast, onchange: (event) => move(event.target.value) }));
    });
    this.showNames();
    const parties = h("select", { id: "parties", onchange: (event) => this.seat(Number(event.target.value)) }, [2, 3, 4].map((count) => h("option", { value: String(count), selected: count === features.length }, `${count} parties`)));
    const focused = document.activeElement?.id;
    fill(this.split, h("div", { class: "field" }, h("label", { for: "parties" }, "Parties with columns"), parties), bar, sliders);
    // The slider under the finger is a new element now.
    if (focused && this.split.querySelector(`#${CSS.escape(focused)}`)) byId(focused).focus();
  }

  showNames() {
    if (this.names.contains(document.activeElement)) return;
    const rename = (place, name) => this.change(() => (this.state.names[place] = name));
    fill(this.names, this.state.names.map((name, place) => h("div", { class: "field" },
      h("label", { for: `name-${place}` }, place === 0 ? "Name of the label party" : `Name of party ${place + 1}`),
      h("input", { id: `name-${place}`, type: "text", maxlength: "32", value: name, oninput: (event) => rename(place, event.target.value) }))));
  }

  move(place, count) {
    const features = [...this.state.features];
    features[place] = count;
    if (this.dataset) {
      const last = features.length - 1;
      const others = features.reduce((sum, value, index) => (index === last || index === place ? sum : sum + value), 0);
      features[place] = Math.min(count, this.columns - others - 1);
      features[last] = this.columns - others - features[place];
    }
    this.change(() => (this.state.features = features));
  }

  seat(count) {
    const kept = this.state.names.slice(0, count);
    const free = NAMES.filter((name) => !kept.includes(name));
    this.state.names = [...kept, ...free.slice(0, count - kept.length)];
    const own = this.state.features[0];
    const rest = this.columns - own;
    const each = Math.max(1, Math.floor(rest / (count - 1)));
    this.state.features = [own, ...Array.from({ length: count - 1 }, (_, place) => (place === count - 2 ? Math.max(1, rest - each * (count - 2)) : each))];
    if (count > 2 && this.state.keys.protocol === "shares") return this.set({ protocol: "exchange" });
    this.show();
    this.changed();
  }

  change(work) {
    work();
    this.show();
    this.changed();
  }

  field(key) {
    const make = key.choices.length ? choice : key.kind === "bool" ? tick : ["batch_size", "epochs"].includes(key.name) ? slider : plain;
    const field = make(key, (value) => this.set({ [key.name]: value }));
    field.element.dataset.key = key.name;
    this.fields.set(key.name, field);
    return field.element;
  }

  show() {
    const { keys } = this.state;
    this.dataSelect.value = this.state.data;
    this.rowsField.hidden = Boolean(this.dataset);
    if (document.activeElement !== this.rowsInput) this.rowsInput.value = String(this.rows);
    this.showSplit();
    const most = { batch_size: Math.max(1, this.rows), epochs: MOST_EPOCHS };
    for (const [name, field] of this.fields) {
      field.show(keys[name], most[name]);
      field.element.hidden = SHOWN_IF[name] ? !SHOWN_IF[name](keys) : false;
    }
  }

  // Mistakes beside the controls that they are about; true for those that found a place.
  mark(mistakes) {
    for (const [name, field] of this.fields) {
      const mine = mistakes.find((mistake) => mistake.key === name);
      field.complain(mine?.text ?? "");
    }
  }
}

function scaled(features, before, after) {
  const share = features[0] / Math.max(before, 1);
  const others = features.length - 1;
  const own = Math.min(Math.round(share * after), after - others);
  const each = Math.max(1, Math.floor((after - own) / others));
  return [own, ...Array.from({ length: others }, (_, place) => (place === others - 1 ? after - own - each * (others - 1) : each))];
}

const title = (key) => TITLES[key.name] ?? key.name.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());

// A labelled control with a line for what it means and a line for what is wrong with it.
function framed(key, input, extra = [], kind = "") {
  const id = `key-${key.name}`;
  const hint = h("p", { class: "hint", id: `${id}-hint` }, key.comment);
  const wrong = h("p", { class: "wrong", id: `${id}-wrong`, hidden: true });
  input.id = id;
  input.setAttribute("aria-describedby", `${id}-hint ${id}-wrong`);
  const element = h("div", { class: `field ${kind}` }, h("label", { for: id }, title(key)), input, extra, hint, wrong);
  const complain = (text) => {
    wrong.textContent = text;
    wrong.hidden = !text;
    input.setAttribute("aria-invalid", text ? "true" : "false");
  };
  return { element, hint, complain };
}

function choice(key, set) {
  const input = h("select", { onchange: () => set(input.value) }, key.choices.map((word) => h("option", { value: word }, word)));
  const frame = framed(key, input);
  const show = (value) => {
    input.value = value;
    if (SAYINGS[key.name]) frame.hint.textContent = SAYINGS[key.name][value] ?? "";
  };
  return { ...frame, show };
}

function tick(key, set) {
  const input = h("input", { type: "checkbox", onchange: () => set(input.checked) });
  return { ...framed(key, input, [], "tick"), show: (value) => (input.checked = value) };
}

function plain(key, set) {
  const isText = key.kind === "str";
  const input = h("input", { type: isText ? "text" : "number", step: key.kind === "int" ? "1" : "any", min: key.low === null ? undefined : String(key.low), maxlength: isText ? "200" : undefined });
  const read = () => (isText ? input.value : key.kind === "int" ? Math.round(Number(input.value)) : Number(input.value));
  input.addEventListener("input", () => input.value !== "" || isText ? set(read()) : undefined);
  const show = (value) => {
    // Not under somebody's hands: 0.0 must not become 0 before the 5 is typed.
    if (document.activeElement !== input) input.value = String(value);
  };
  return { ...framed(key, input), show };
}

// A slider whose steps grow with the value, beside a field for the exact number.
function slider(key, set) {
  let most = 2;
  const range = h("input", { type: "range", min: "0", max: "1000" });
  const exact = h("input", { type: "number", min: "1", step: "1", "aria-label": `${title(key)}, exactly` });
  const value = () => Math.max(1, Math.round(most ** (Number(range.value) / 1000)));
  range.addEventListener("input", () => set(value()));
  range.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    set(Math.min(most, Math.max(1, Number(exact.value) + way * Math.max(1, Math.round(Number(exact.value) / 20)))));
  });
  exact.addEventListener("input", () => exact.value >= 1 && set(Math.round(Number(exact.value))));
  const show = (shown, limit) => {
    most = Math.max(2, limit ?? most);
    const place = Math.round((1000 * Math.log(Math.max(1, shown))) / Math.log(most));
    if (Math.abs(Number(range.value) - place) > 1 || value() !== shown) range.value = String(place);
    range.setAttribute("aria-valuetext", String(shown));
    if (document.activeElement !== exact) exact.value = String(shown);
  };
  return { ...framed(key, range, [exact], "slider"), show };
}
