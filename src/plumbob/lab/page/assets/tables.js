// The user's own tables: one file for each party, what it gives, and how its columns are to be read. The files go to the
// lab on this machine and nowhere else; of what is in them only names of columns and counts come back.

import { upload } from "./api.js";
import { byId, fill, h, size } from "./dom.js";

export const OWN = "own";
const KINDS = ["as it is written", "number", "category", "boolean", "date"];
const HEADS = ["use", "column", "read as", "distinct", "gaps", "encoded", ""];
const PLACE = "\u0000";
const BY_PLACE = "none: pair rows by their place in the files";

export class Tables {
  // `state()` gives the draft in the controls; `changed` is called when its reading or a file changed.
  constructor(start, state, changed) {
    Object.assign(this, { state, changed, largest: start.largest_file, files: start.tables });
    this.cards = [];
    this.build();
  }

  build() {
    this.id = select("table-id", "Column that identifies a row", (value) =>
      this.say(value === PLACE ? { id: "", by_place: true } : { id: value, by_place: false }));
    this.second = select("table-id-second", "Second column of that, if one is not enough", (value) =>
      this.say({ id: [idColumns(this.state().reading)[0], value].filter(Boolean).join(",") }));
    this.label = select("table-label", "Column that holds the label", (value) => this.say({ label: value }));
    this.positive = text("table-positive", "Class to predict", "Empty: the second one when sorted.", (value) =>
      this.say({ positive: value.trim() }));
    this.gaps = text("table-gaps", "Cells that mean a gap", "Besides empty ones and NA; separated by commas.", (value) =>
      this.say({ gaps: value.split(",").map((one) => one.trim()).filter(Boolean) }));
    this.list = h("div", { class: "cards" });
    const about =
      "One file for each party: CSV (also .gz or .tsv) or Parquet, with the columns’ names in the first line. The files " +
      "are copied to this lab on your own machine, and deleted when it closes.";
    this.remark = h("p", { class: "hint", id: "tables-remark", role: "status" });
    fill(byId("tables"), h("p", {}, about), this.list,
      h("div", { class: "pair" }, this.id.element, this.second.element, this.label.element, this.positive.element, this.gaps.element),
      this.remark);
  }

  say(reading) {
    Object.assign(this.state().reading, reading);
    this.changed();
  }

  // The draft changed, or the lab said what the tables give.
  show(answer) {
    const { names, reading, data } = this.state();
    byId("tables-section").hidden = data !== OWN;
    if (data !== OWN) return;
    while (this.cards.length < names.length) this.cards.push(this.card(this.cards.length));
    fill(this.list, this.cards.slice(0, names.length).map((card) => card.element));
    const columns = names.map((_, place) => this.columnsOf(place));
    const common = columns[0].filter((name) => columns.every((some) => some.includes(name)));
    const [first = "", second = ""] = idColumns(reading);
    this.id.offer(["", ...common, PLACE], reading.by_place ? PLACE : first, "choose one");
    this.second.offer(["", ...common.filter((name) => first && name !== first)], second, "none");
    this.label.offer(["", ...columns[0]], reading.label, "choose one");
    this.positive.show(reading.positive);
    this.gaps.show(reading.gaps.join(", "));
    this.remark.textContent = answer?.remark ?? "";
    names.forEach((name, place) => this.cards[place].show(name, answer?.summaries[place]));
  }

  columnsOf(place) {
    return this.files.find((file) => file.place === place)?.columns ?? [];
  }

  card(place) {
    const id = `table-file-${place}`;
    const title = h("label", { for: id });
    const about = h("p", { class: "hint", id: `${id}-about` });
    const wrong = h("p", { class: "wrong", role: "alert" });
    const rows = new Map();
    const body = h("tbody");
    const fold = h("details", { class: "columns-fold", open: true, hidden: true }, h("summary", {}, "Its columns"),
      tableOf(body, `Columns of party ${place + 1}`));
    const choose = async () => {
      wrong.textContent = "";
      const [file] = input.files;
      if (!file) return;
      try {
        await this.take(place, file);
        body.replaceChildren();
        rows.clear();
      } catch (error) {
        wrong.textContent = error.message;
      }
      input.value = "";
      this.changed();
    };
    const input = h("input", { id, type: "file", accept: ".csv,.gz,.tsv,.txt,.parquet,.pq",
      "aria-describedby": `${id}-about`, onchange: choose });
    const element = h("div", { class: "card" }, h("div", { class: "field" }, title, input, about, wrong), fold);
    const show = (name, summary) => {
      const file = this.files.find((one) => one.place === place);
      title.textContent = place === 0 ? `${name}: label and columns` : `${name}: columns`;
      const counted = summary ? `, ${summary.rows.toLocaleString("en")} rows, ${summary.width} columns after encoding` : "";
      about.textContent = file ? `${file.name} (${size(file.size)}${counted})` : "No file yet.";
      fold.hidden = !file;
      for (const column of this.columnsOf(place)) {
        if (!rows.has(column)) {
          rows.set(column, this.row(column));
          body.append(rows.get(column).element);
        }
        rows.get(column).show(summary?.columns.find((one) => one.name === column));
      }
    };
    return { element, show };
  }

  async take(place, file) {
    if (file.size > this.largest) {
      const most = size(this.largest);
      throw new Error(`${file.name}: expected at most ${most} on this page; use plumbob audit for larger files.`);
    }
    const { tables } = await upload(`tables/${place}`, file);
    this.files = tables;
    this.guess(place);
  }

  // Another file may not have what was chosen for the last one; names that say what they are save a choice.
  guess(place) {
    const { reading, names } = this.state();
    const all = names.flatMap((_, each) => this.columnsOf(each));
    reading.drop = reading.drop.filter((name) => all.includes(name));
    reading.types = Object.fromEntries(Object.entries(reading.types).filter(([name]) => all.includes(name)));
    if (place === 0 && !this.columnsOf(0).includes(reading.label)) reading.label = "";
    const columns = names.map((_, each) => this.columnsOf(each));
    const isCommon = (name) => columns.every((some) => some.includes(name));
    reading.by_place = false;
    if (!idColumns(reading).every(isCommon)) reading.id = "";
    if (!reading.id) reading.id = columns[0].find((name) => /(^|_)id$/i.test(name) && isCommon(name)) ?? "";
  }

  row(column) {
    const use = h("input", { type: "checkbox", "aria-label": `Use ${column}` });
    use.addEventListener("change", () => {
      const others = this.state().reading.drop.filter((name) => name !== column);
      this.say({ drop: use.checked ? others : [...others, column] });
    });
    const kind = h("select", { "aria-label": `Read ${column} as` }, KINDS.map((word, at) => h("option", { value: at ? word : "" }, word)));
    kind.addEventListener("change", () => {
      const types = { ...this.state().reading.types };
      delete types[column];
      this.say({ types: kind.value ? { ...types, [column]: kind.value } : types });
    });
    const cells = HEADS.slice(3).map((head) => h("td", { "data-head": head }));
    const element = h("tr", {}, h("td", { "data-head": "use" }, use), h("th", { scope: "row" }, column),
      h("td", { "data-head": "read as" }, kind), cells);
    const show = (summary) => {
      const { reading } = this.state();
      const isId = idColumns(reading).includes(column);
      const role = isId ? "identifies the row" : column === reading.label ? "the label" : undefined;
      use.checked = !role && !reading.drop.includes(column);
      use.disabled = Boolean(role);
      kind.disabled = (Boolean(role) && !isId) || reading.drop.includes(column);
      kind.value = reading.types[column] ?? "";
      const numbers = summary ? [summary.different, summary.gaps, summary.encoded, summary.remark] : ["", "", "", ""];
      numbers[3] = role ?? (reading.drop.includes(column) ? "left out" : numbers[3]);
      cells.forEach((cell, at) => (cell.textContent = String(numbers[at])));
    };
    return { element, show };
  }
}

// An id may have several columns, with commas between them.
function idColumns(reading) {
  return reading.id.split(",").filter(Boolean);
}

function tableOf(body, name) {
  const head = h("thead", {}, h("tr", {}, HEADS.map((word) => h("th", { scope: "col" }, word || "remark"))));
  return h("table", { class: "stacked", "aria-label": name }, head, body);
}

function select(id, title, set) {
  const input = h("select", { id, onchange: () => set(input.value) });
  const offer = (names, value, nothing) => {
    const told = names.join("\n");
    if (input.dataset.told !== told) {
      fill(input, names.map((name) => h("option", { value: name }, name === PLACE ? BY_PLACE : name || nothing)));
      input.dataset.told = told;
    }
    input.value = value;
  };
  return { element: h("div", { class: "field" }, h("label", { for: id }, title), input), offer };
}

function text(id, title, hint, set) {
  const input = h("input", { id, type: "text", maxlength: "200", "aria-describedby": `${id}-hint` });
  input.addEventListener("change", () => set(input.value));
  const element = h("div", { class: "field" }, h("label", { for: id }, title), input,
    h("p", { class: "hint", id: `${id}-hint` }, hint));
  return { element, show: (value) => document.activeElement !== input && (input.value = value) };
}
