// Values under the pointer, or under the arrow keys. Charts are complete without it; all that it shows it reads
// from the table that follows each drawing. Call plumbobCharts() again after a chart was added to the page.
"use strict";

function plumbobCharts() {
  for (const figure of document.querySelectorAll("figure.chart:not([data-live])")) {
    figure.dataset.live = "yes";
    makeLive(figure);
  }
}

function makeLive(figure) {
  const plot = figure.querySelector(".plot");
  const rows = [...figure.querySelectorAll("tbody tr")];
  if (!plot || rows.length === 0) return;
  const names = [...figure.querySelectorAll("thead th")].map((cell) => cell.textContent);
  const probe = made("div", "probe", plot);
  const tip = made("div", "tip", plot);
  const across = made("div", "hair across", plot);
  const down = made("div", "hair down", plot);
  const dots = [];
  let at = -1;

  probe.tabIndex = 0;
  probe.setAttribute("role", "slider");
  probe.setAttribute("aria-label", "Values of: " + figure.querySelector("figcaption strong").textContent);
  probe.setAttribute("aria-valuemin", "1");
  probe.setAttribute("aria-valuemax", String(rows.length));
  probe.setAttribute("aria-valuenow", "1");
  probe.setAttribute("aria-valuetext", "Use the arrow keys to read values");
  for (const part of [tip, across, down]) part.setAttribute("aria-hidden", "true");
  hide();

  // Shares of the plot to pixels of the page: of the drawing that is in sight, as it is scaled.
  function place() {
    const drawing = [...plot.querySelectorAll(".drawing")].find((one) => one.getBoundingClientRect().width > 0);
    const box = drawing.getBoundingClientRect(), outer = plot.getBoundingClientRect();
    const [left, top, width, height] = drawing.dataset.plot.split(" ").map(Number);
    const scale = box.width / drawing.viewBox.baseVal.width;
    const start = box.left - outer.left + left * scale, bottom = box.top - outer.top + (top + height) * scale;
    return {
      x: (share) => start + share * width * scale,
      y: (share) => bottom - share * height * scale,
      left: start, right: start + width * scale, top: bottom - height * scale, bottom, outer,
    };
  }

  function show(next) {
    at = Math.max(0, Math.min(rows.length - 1, next));
    const row = rows[at], on = place();
    const x = "x" in row.dataset ? on.x(Number(row.dataset.x)) : null;
    const y = "y" in row.dataset ? on.y(Number(row.dataset.y)) : null;
    put(across, y === null ? null : { left: on.left, top: y, width: on.right - on.left });
    put(down, x === null ? null : { left: x, top: on.top, height: on.bottom - on.top });
    const cells = [...row.cells];
    drawDots(cells.filter((cell) => "y" in cell.dataset).map((cell) => [x, on.y(Number(cell.dataset.y))]));
    // A number needs to be told what it counts; a name speaks for itself.
    const first = (y === null ? names[0] + " " : "") + cells[0].textContent;
    const values = cells.slice(1).map((cell, place) => [names[place + 1], cell.textContent]);
    fill(first, values);
    put(tip, { left: 0, top: 0 });
    const beside = x === null ? (on.left + on.right) / 2 : x;
    const fits = beside + 14 + tip.offsetWidth <= on.outer.width;
    const left = fits ? beside + 14 : Math.max(0, beside - 14 - tip.offsetWidth);
    put(tip, { left, top: y === null ? on.top : Math.min(y + 10, on.outer.height - tip.offsetHeight) });
    probe.setAttribute("aria-valuenow", String(at + 1));
    probe.setAttribute("aria-valuetext", first + "; " + values.map(([name, value]) => name + ": " + value).join("; "));
  }

  function fill(first, values) {
    tip.replaceChildren();
    made("strong", "", tip).textContent = first;
    for (const [name, value] of values) {
      const line = made("span", "", tip);
      made("b", "", line).textContent = value;
      line.append(" " + name);
    }
  }

  function drawDots(places) {
    while (dots.length < places.length) {
      dots.push(made("div", "dot", plot));
      dots[dots.length - 1].setAttribute("aria-hidden", "true");
    }
    dots.forEach((dot, place) => put(dot, place < places.length ? { left: places[place][0], top: places[place][1] } : null));
  }

  function hide() {
    for (const part of [tip, across, down, ...dots]) put(part, null);
  }

  function nearest(event) {
    const on = place();
    const pointer = [event.clientX - on.outer.left, event.clientY - on.outer.top];
    const far = rows.map((row) => Math.hypot(
      "x" in row.dataset ? on.x(Number(row.dataset.x)) - pointer[0] : 0,
      "y" in row.dataset ? on.y(Number(row.dataset.y)) - pointer[1] : 0,
    ));
    return far.indexOf(Math.min(...far));
  }

  const leap = Math.max(1, Math.round(rows.length / 20));
  // Bars are read from the top down.
  const up = "x" in rows[0].dataset ? 1 : -1;
  const moves = {
    ArrowRight: () => at + 1, ArrowLeft: () => at - 1, ArrowUp: () => at + up, ArrowDown: () => at - up,
    PageUp: () => at + up * leap, PageDown: () => at - up * leap, Home: () => 0, End: () => rows.length - 1,
  };
  probe.addEventListener("focus", () => {
    if (probe.matches(":focus-visible")) show(at);
  });
  probe.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(moves[event.key]());
  });
  probe.addEventListener("pointermove", (event) => show(nearest(event)));
  probe.addEventListener("pointerdown", (event) => show(nearest(event)));
  probe.addEventListener("pointerleave", hide);
  probe.addEventListener("blur", hide);
}

function made(name, kind, parent) {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  parent.append(element);
  return element;
}

// Null hides; numbers are pixels.
function put(element, box) {
  element.hidden = box === null;
  for (const [side, value] of Object.entries(box || {})) element.style[side] = value + "px";
}

plumbobCharts();
