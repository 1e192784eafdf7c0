// The page: controls, tables, findings, the run and the comparison, wired together.

import { get, latest, post } from "./api.js";
import { Compare } from "./compare.js";
import { Controls } from "./controls.js";
import { byId, h, save } from "./dom.js";
import { Findings } from "./findings.js";
import { learn } from "./glossary.js";
import { RunPanel } from "./run.js";
import { OWN, Tables } from "./tables.js";

const PATIENCE = 400; // Milliseconds after which an answer that has not come is waited for in words.
// The lab's path is drawn at its start, so that another lab's draft is never taken for this one's.
const KEPT = `plumbob-lab-draft ${location.pathname}`;

const start = await get("start");
learn(start.glossary);
const past = [];

const controls = new Controls(start, () => changed(), (before, moved) => tell(before, moved));
const tables = new Tables(start, () => controls.state, () => changed());
const findings = new Findings((fix) => {
  remembered(controls.draft);
  controls.set(fix.keys);
  // The button that was pressed is about to go; this one takes back what it did.
  byId("undo").focus();
});
const panel = new RunPanel(() => controls.draft, () => compare.refresh());
const compare = new Compare((draft) => {
  const { data, reading } = controls.draft;
  remembered(controls.draft);
  // A run on own tables is looked at with the tables that are here.
  controls.hold(data === OWN ? { ...draft, data, reading } : draft);
  byId("plan-heading").scrollIntoView();
});

const offer = latest(400, (...given) => panel.offer(...given), (error) => panel.say(error.message));
const asked = latest(40, check, (error) => {
  findings.clear(`The lab does not answer (${error.message}): was it closed?`);
  byId("download-plan").disabled = true;
});
let waiting;

function changed() {
  keep();
  tables.show(tables.answer);
  clearTimeout(waiting);
  waiting = setTimeout(() => findings.clear(controls.draft.data === OWN ? "Reading the tables …" : "Checking …"), PATIENCE);
  asked();
}

async function check(signal) {
  const draft = controls.draft;
  let answer;
  try {
    answer = await post("check", draft, signal);
  } finally {
    // A newer question waits for its own answer.
    if (!signal.aborted) clearTimeout(waiting);
  }
  const isFit = !answer.mistakes;
  controls.mark(answer.mistakes ?? []);
  controls.count(answer.tables);
  controls.tell(answer.passes);
  tables.answer = answer.tables;
  tables.show(answer.tables);
  if (isFit) findings.show(answer, draft);
  else findings.refuse(answer.mistakes);
  byId("download-plan").disabled = !isFit;
  offer(draft, isFit, answer.keys);
}

// A reload shows this tab's plan; a browser that was closed and opened again shows the last one that was checked.
function keep() {
  sessionStorage.setItem(KEPT, JSON.stringify(controls.draft));
}

function kept() {
  try {
    const draft = JSON.parse(sessionStorage.getItem(KEPT));
    const isWhole = draft && Object.keys(start.first).every((part) => part in draft);
    return isWhole ? draft : start.last;
  } catch {
    return start.last;
  }
}

// What one click changed in several controls, one click takes back.
function remembered(draft) {
  past.push(draft);
  byId("undo").hidden = false;
}

// What one choice changed beside itself is said, and can be taken back.
function tell(before, moved) {
  byId("along").textContent = moved.length ? `Also changed: ${moved.join(", ")}.` : "";
  if (moved.length) remembered(before);
}

function showOpened(run) {
  if (!run) return;
  const report = h("a", { href: "runs/opened/report", target: "_blank", rel: "noopener" }, "Read its report");
  const name = h("strong", {}, run.title || run.folder);
  byId("opened").append("Opened on ", name, ": its plan is in the controls. ", run.has_report ? report : "");
  byId("opened").hidden = false;
}

byId("undo").addEventListener("click", () => {
  controls.hold(past.pop());
  byId("along").textContent = "";
  byId("undo").hidden = past.length === 0;
});
byId("forget").addEventListener("click", () => {
  remembered(controls.draft);
  controls.hold(start.first);
});
byId("download-plan").addEventListener("click", async () => save(await post("plan", controls.draft), "plan.toml"));
byId("plan").addEventListener("submit", (event) => event.preventDefault());
byId("footer").textContent =
  `Plumbob ${start.version}. This page talks to your own machine only; runs are kept in ${start.folder}.`;

controls.hold(kept());
await compare.refresh();
showOpened(compare.runs.find((run) => run.name === "opened"));
if (start.work) panel.watch(start.work);
