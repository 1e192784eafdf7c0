// Who holds how many columns: a bar, and a slider for each party. Of a data set the last party gets the rest; own
// tables have the columns they have.

import { fill, h } from "./dom.js";
import { put } from "./fields.js";

const NAMES = ["bank", "processor", "insurer", "shop", "telecom", "utility", "clinic", "lender"];
const MOST_UNNAMED = 1000;

const total = (features) => features.reduce((sum, count) => sum + Number(count), 0);

// `state` gives the draft in the controls; `fixed()` the columns of its data set or nothing; `isGiven()` whether every
// party's number is that of its own table.
export class Parties {
  constructor(state, { fixed, isGiven }, changed) {
    Object.assign(this, { state, fixed, isGiven, changed });
    this.bar = h("div", { class: "shares", "aria-hidden": "true" });
    this.sliders = h("div");
    this.names = h("div");
    const counts = NAMES.slice(1).map((_, place) => h("option", { value: String(place + 2) }, `${place + 2} parties`));
    this.count = h("select", { id: "parties", onchange: () => this.setCount(Number(this.count.value)) }, counts);
    const label = h("label", { for: "parties" }, "Parties with columns");
    this.element = h("div", {}, h("div", { class: "field" }, label, this.count), this.bar, this.sliders);
  }

  show() {
    const { features } = this.state();
    // Built again only for another number of parties: a slider that is being dragged must stay the same one.
    if (this.sliders.children.length !== features.length) this.build(features.length);
    this.count.value = String(features.length);
    features.forEach((count, place) => this.showParty(place, count));
  }

  showParty(place, count) {
    const { features, names } = this.state();
    const isGiven = this.isGiven() || (this.fixed() !== undefined && place === features.length - 1);
    const left = features.length - 1 - place;
    const most = this.fixed() === undefined ? Math.max(MOST_UNNAMED, count) : this.fixed() - left;
    const part = this.bar.children[place];
    part.textContent = String(count);
    part.style.flexGrow = String(count);
    const [label, range, exact] = this.sliders.children[place].children;
    label.lastChild.textContent = `${names[place]}: ${place === 0 ? "label and columns" : "columns"}`;
    for (const input of [range, exact]) Object.assign(input, { max: String(most), disabled: isGiven });
    range.value = String(count);
    put(exact, count);
    put(this.names.children[place].lastChild, names[place]);
  }

  build(count) {
    const places = Array.from({ length: count }, (_, place) => place);
    fill(this.bar, places.map((place) => h("span", { class: `part part-${place}` })));
    fill(this.sliders, places.map((place) => this.slider(place)));
    fill(this.names, places.map((place) => this.nameField(place)));
  }

  slider(place) {
    const id = `columns-${place}`;
    const least = place === 0 ? "0" : "1";
    const move = (event) => this.move(place, event.target.value === "" ? "" : Math.round(Number(event.target.value)));
    return h("div", { class: "field slider" },
      h("label", { for: id }, h("span", { class: `swatch part-${place}` }), h("span", {})),
      h("input", { id, type: "range", min: least, oninput: move }),
      h("input", { type: "number", min: least, "aria-label": `Columns of party ${place + 1}, exactly`, oninput: move }));
  }

  nameField(place) {
    const id = `name-${place}`;
    const rename = (event) => {
      this.state().names[place] = event.target.value;
      this.changed();
    };
    return h("div", { class: "field" },
      h("label", { for: id }, place === 0 ? "Name of the label party" : `Name of party ${place + 1}`),
      h("input", { id, type: "text", maxlength: "32", oninput: rename }));
  }

  move(place, asked) {
    const state = this.state();
    const features = [...state.features];
    const last = features.length - 1;
    // An emptied field is no number, and the plan says so.
    features[place] = asked === "" ? "" : Math.max(place === 0 ? 0 : 1, asked);
    if (this.fixed() !== undefined && asked !== "") {
      features[last] = 0;
      const others = total(features) - features[place];
      features[place] = Math.min(features[place], this.fixed() - others - 1);
      features[last] = this.fixed() - others - features[place];
    }
    state.features = features;
    this.changed();
  }

  setCount(count) {
    const state = this.state();
    const kept = state.names.slice(0, count);
    state.names = [...kept, ...NAMES.filter((name) => !kept.includes(name)).slice(0, count - kept.length)];
    const columns = Math.max(total(state.features), count - 1);
    state.features = shared(Math.min(Number(state.features[0]), columns - count + 1), count - 1, columns);
    this.changed();
  }

  // Another data set: the label party keeps its share of the columns.
  fit(before, after) {
    const state = this.state();
    const others = state.features.length - 1;
    const own = Math.min(Math.round((state.features[0] / Math.max(1, before)) * after), after - others);
    state.features = shared(own, others, after);
  }
}

// Own columns first, the rest among the others as evenly as it goes.
function shared(own, others, columns) {
  const each = Math.max(1, Math.floor((columns - own) / others));
  const equal = Array(others - 1).fill(each);
  return [own, ...equal, Math.max(1, columns - own - each * (others - 1))];
}
