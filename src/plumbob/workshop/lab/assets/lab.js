// The page: controls, findings, the run and the comparison, wired together.

import { get, latest, post } from "./api.js";
import { Compare } from "./compare.js";
import { Controls } from "./controls.js";
import { byId, h, save } from "./dom.js";
import { Findings } from "./findings.js";
import { RunPanel } from "./run.js";

const start = await get("start");
const past = [];

const controls = new Controls(start, () => changed());
const findings = new Findings((fix) => {
  remembered(() => controls.set(fix.keys));
  // The button that was pressed is about to go; this one takes back what it did.
  byId("undo").focus();
});
const panel = new RunPanel(() => controls.wish, () => compare.refresh());
const compare = new Compare((wish) => {
  remembered(() => controls.hold(wish));
  byId("plan-heading").scrollIntoView();
});

const offer = latest(400, (...given) => panel.offer(...given), (error) => panel.say(error.message));
const changed = latest(40, check, (error) => {
  byId("sentence").textContent = `The lab does not answer (${error.message}): was it closed?`;
});

async function check(signal) {
  const wish = controls.wish;
  const answer = await post("check", wish, signal);
  const isFit = !answer.mistakes;
  controls.mark(answer.mistakes ?? []);
  if (isFit) findings.show(answer, wish);
  else findings.refuse(answer.mistakes);
  byId("download-plan").disabled = !isFit;
  offer(wish, isFit);
}

// What one click changed in several controls, one click takes back.
function remembered(work) {
  past.push(controls.wish);
  byId("undo").hidden = false;
  work();
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
  byId("undo").hidden = past.length === 0;
});
byId("download-plan").addEventListener("click", async () => save(await post("plan", controls.wish), "plan.toml"));
byId("plan").addEventListener("submit", (event) => event.preventDefault());
byId("footer").textContent =
  `Plumbob ${start.version}. This page talks to your own machine only; runs are kept in ${start.folder}.`;

controls.hold(start.first);
await compare.refresh();
showOpened(compare.runs.find((run) => run.name === "opened"));
if (start.work) panel.watch(start.work);
