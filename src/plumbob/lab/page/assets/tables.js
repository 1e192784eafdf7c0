// The user's own tables: one file for each party, what it gives, and how its columns are to be read. The files go to the
// lab on this machine and nowhere else; of what is in them only names of columns and counts come back.

import { upload } from "./api.js";
import { byId, fill, h, size } from "./dom.js";

export const OWN = "own";
const KINDS = ["as it is written", "category"];
const HEADS = ["use", "column", "read as", "distinct", "gaps", "encoded", ""];
const ID_TITLES = ["Column that identifies a row", "Second column of that, if needed", "Third", "Fourth"];
const DUPLICATES = { refuse: "refuse the file", first: "use the first one", last: "use the last one", repeat: "use all of them" };
const UNLABELLED = { refuse: "refuse the file", drop: "leave them out" };
const ABOUT =
  "One file for each party: CSV (also .gz or .tsv) or Parquet, with the columns’ names in the first line. The files " +
  "are copied to this lab on your own machine, and deleted when it closes.";

export class Tables {
  // `state()` gives the draft in the controls; `changed` is called when its reading or a file changed.
  constructor(start, state, changed) {
    Object.assign(this, { state, changed, largest: start.largest_file, files: start.tables });
    this.cards = [];
    this.build();
  }

  build() {
    this.label = select("table-label", "Column that holds the label", (value) => this.say({ label: value }));
    this.positive = text("table-positive", "Class to predict", "Empty: the second one when sorted.", (value) =>
      this.say({ positive: value.trim() }));
    this.gaps = text("table-gaps", "Cells that mean a gap", "Besides empty ones and NA; separated by commas.", (value) =>
      this.say({ gaps: value.split(",").map((one) => one.trim()).filter(Boolean) }));
    this.duplicates = select("table-duplicates", "Several rows with the same id", (value) => this.say({ duplicates: value }));
    this.unlabelled = select("table-unlabelled", "Rows without a label", (value) => this.say({ unlabelled: value }));
    this.byPlace = tick("table-by-place", "Rows have no id: pair them by their place in the files", (is) =>
      this.say({ by_place: is }));
    this.byRule = tick("table-by-rule", "Let the public rule choose the encoding", (is) => this.say({ by_rule: is }));
    this.list = h("div", { class: "cards" });
    this.remark = h("p", { class: "hint", id: "tables-remark", role: "status" });
    fill(byId("tables"), h("p", {}, ABOUT), this.list, this.gaps.element, this.duplicates.element, this.unlabelled.element,
      this.byPlace.element, this.byRule.element, this.remark);
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
    this.label.offer(["", ...this.columnsOf(0)], reading.label, "choose one");
    this.positive.show(reading.positive);
    this.gaps.show(reading.gaps.join(", "));
    this.duplicates.offer(Object.keys(DUPLICATES), reading.duplicates, "", DUPLICATES);
    this.unlabelled.offer(Object.keys(UNLABELLED), reading.unlabelled, "", UNLABELLED);
    this.byPlace.show(reading.by_place, "The files must have the same people in the same order.");
    this.byRule.show(reading.by_rule, this.ruleHint(reading, answer));
    this.remark.textContent = answer?.remark ?? "";
    names.forEach((name, place) => this.cards[place].show(name, answer?.summaries[place]));
  }

  ruleHint(reading, answer) {
    if (reading.by_rule) return answer?.drafted || "By the size of the tables: plain columns, and bins where rows allow them.";
    return "Bins, plain, missing, categorical and l2 are as the plan has them.";
  }

  columnsOf(place) {
    return this.files.find((file) => file.place === place)?.columns ?? [];
  }

  idsOf(place) {
    return this.state().reading.ids[place] ?? [];
  }

  // Every party has a list, so that each keeps its place.
  setIds(place, columns) {
    const { names, reading } = this.state();
    reading.ids = names.map((_, at) => (at === place ? columns : this.idsOf(at)));
  }

  card(place) {
    const id = `table-file-${place}`;
    const title = h("h3", {});
    const button = h("label", { class: "button", for: id });
    const about = h("p", { class: "hint", id: `${id}-about` });
    const wrong = h("p", { class: "wrong", role: "alert" });
    const identity = this.identity(place);
    const rows = new Map();
    const body = h("tbody");
    const fold = h("details", { class: "columns-fold", open: true }, h("summary", {}, "Its columns"),
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
    const about_label = place === 0 ? [this.label.element, this.positive.element] : [];
    const choices = h("div", { class: "pair" }, about_label, identity.elements);
    const element = h("div", { class: "card" }, title, h("div", { class: "file" }, input, button, about), wrong, choices, fold);
    const show = (name, summary) => {
      const file = this.files.find((one) => one.place === place);
      title.textContent = place === 0 ? `${name}: label and columns` : `${name}: columns`;
      button.textContent = file ? `Choose another file for ${name}` : `Choose a file for ${name}`;
      const counted = summary ? `, ${summary.rows.toLocaleString("en")} rows, ${summary.width} columns after encoding` : "";
      about.textContent = file ? `${file.name} (${size(file.size)}${counted})` : "No file yet.";
      choices.hidden = fold.hidden = !file;
      identity.show();
      for (const column of this.columnsOf(place)) {
        if (!rows.has(column)) {
          rows.set(column, this.row(place, column));
          body.append(rows.get(column).element);
        }
        rows.get(column).show(summary?.columns.find((one) => one.name === column));
      }
    };
    return { element, show };
  }

  // One select, and another one behind each column that was chosen: a person may be known by several together.
  identity(place) {
    const selects = ID_TITLES.map((title, at) => select(`table-id-${place}-${at}`, title, (value) =>
      this.identify(place, at, value)));
    const show = () => {
      const chosen = this.idsOf(place);
      selects.forEach((one, at) => {
        const others = this.columnsOf(place).filter((name) => name === chosen[at] || !chosen.includes(name));
        one.element.hidden = this.state().reading.by_place || at > chosen.length;
        one.offer(["", ...others], chosen[at] ?? "", at ? "none" : "choose one");
      });
    };
    return { elements: selects.map((one) => one.element), show };
  }

  identify(place, at, column) {
    const columns = [...this.idsOf(place)];
    columns[at] = column;
    this.setIds(place, columns.filter(Boolean));
    // Where the others' files have the same columns, these identify their rows too, unless somebody chose otherwise.
    this.state().names.forEach((_, other) => {
      const isSilent = !this.idsOf(other).length && this.columnsOf(other).length > 0;
      if (isSilent && this.idsOf(place).every((name) => this.columnsOf(other).includes(name))) this.setIds(other, [...this.idsOf(place)]);
    });
    this.changed();
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
    const own = this.columnsOf(place);
    reading.drop = reading.drop.filter((name) => all.includes(name));
    reading.category = reading.category.filter((name) => all.includes(name));
    if (place === 0 && !own.includes(reading.label)) reading.label = "";
    reading.by_place = false;
    if (this.idsOf(place).length && this.idsOf(place).every((name) => own.includes(name))) return;
    const others = reading.ids.find((columns, at) => at !== place && columns.length && columns.every((name) => own.includes(name)));
    const named = own.filter((name) => /(^|_)id$/i.test(name)).slice(0, 1);
    this.setIds(place, others ? [...others] : named);
  }

  row(place, column) {
    const use = h("input", { type: "checkbox", "aria-label": `Use ${column}` });
    use.addEventListener("change", () => {
      const others = this.state().reading.drop.filter((name) => name !== column);
      this.say({ drop: use.checked ? others : [...others, column] });
    });
    const kind = h("select", { "aria-label": `Read ${column} as` }, KINDS.map((word, at) => h("option", { value: at ? word : "" }, word)));
    kind.addEventListener("change", () => {
      const others = this.state().reading.category.filter((name) => name !== column);
      this.say({ category: kind.value ? [...others, column] : others });
    });
    const cells = HEADS.slice(3).map((head) => h("td", { "data-head": head }));
    const element = h("tr", {}, h("td", { "data-head": "use" }, use), h("th", { scope: "row" }, column),
      h("td", { "data-head": "read as" }, kind), cells);
    const show = (summary) => {
      const { reading } = this.state();
      const isId = !reading.by_place && this.idsOf(place).includes(column);
      const isLabel = place === 0 && column === reading.label;
      const role = isId ? "identifies the row" : isLabel ? "the label" : undefined;
      use.checked = !role && !reading.drop.includes(column);
      use.disabled = Boolean(role);
      kind.disabled = (Boolean(role) && !isId) || reading.drop.includes(column);
      kind.value = reading.category.includes(column) ? "category" : "";
      const numbers = summary ? [summary.different, summary.gaps, summary.encoded, summary.remark] : ["", "", "", ""];
      numbers[3] = role ?? (reading.drop.includes(column) ? "left out" : numbers[3]);
      cells.forEach((cell, at) => (cell.textContent = String(numbers[at])));
    };
    return { element, show };
  }
}

function tableOf(body, name) {
  const head = h("thead", {}, h("tr", {}, HEADS.map((word) => h("th", { scope: "col" }, word || "remark"))));
  return h("table", { class: "stacked", "aria-label": name }, head, body);
}

function select(id, title, set) {
  const input = h("select", { id, onchange: () => set(input.value) });
  const offer = (names, value, nothing, words = {}) => {
    const told = names.join("\n");
    if (input.dataset.told !== told) {
      fill(input, names.map((name) => h("option", { value: name }, words[name] ?? (name || nothing))));
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

function tick(id, title, set) {
  const input = h("input", { id, type: "checkbox", "aria-describedby": `${id}-hint`, onchange: () => set(input.checked) });
  const hint = h("p", { class: "hint", id: `${id}-hint` });
  const show = (value, words) => {
    input.checked = value;
    hint.textContent = words;
  };
  return { element: h("div", { class: "field tick" }, input, h("label", { for: id }, title), hint), show };
}
