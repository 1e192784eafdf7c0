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
const findings = new Findings((fix) => remembered(() => controls.set(fix.keys)));
const panel = new RunPanel(() => controls.wish, () => compare.refresh());
const compare = new Compare((wish) => {
  remembered(() => controls.hold(wish));
  byId("plan-heading").scrollIntoView();
});

const silence = (error) => (byId("sentence").textContent = `The lab does not answer (${error.message}): was it closed?`);
const offer = latest(400, (signal, wish, isFit) => panel.offer(signal, wish, isFit), (error) => panel.say(error.message));
const changed = latest(40, async (signal) => {
  const wish = controls.wish;
  const answer = await post("check", wish, signal);
  controls.mark(answer.mistakes ?? []);
  if (answer.mistakes) findings.refuse(answer.mistakes);
  else findings.show(answer, wish);
  byId("download-plan").disabled = Boolean(answer.mistakes);
  offer(wish, !answer.mistakes);
}, silence);

// What one click changed in several controls, one click takes back.
function remembered(work) {
  past.push(controls.wish);
  work();
  byId("undo").hidden = false;
}

byId("undo").addEventListener("click", () => {
  controls.hold(past.pop());
  byId("undo").hidden = past.length === 0;
});
byId("download-plan").addEventListener("click", async () => save(await post("plan", controls.wish), "plan.toml"));
byId("plan").addEventListener("submit", (event) => event.preventDefault());
byId("footer").textContent = `Plumbob ${start.version}. This page talks to your own machine only; runs are kept in ${start.folder}.`;

controls.hold(start.first);
await compare.refresh();
const opened = compare.runs.find((run) => run.name === "opened");
if (opened) {
  const report = h("a", { href: "runs/opened/report", target: "_blank", rel: "noopener" }, "Read its report");
  byId("opened").append("Opened on ", h("strong", {}, opened.title || opened.folder), ": its plan is in the controls. ", opened.has_report ? report : "");
  byId("opened").hidden = false;
}
if (start.work) panel.watch(start.work);
