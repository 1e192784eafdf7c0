// The page asks the lab after every change, and puts the answer in its place. The lab's templates escape every word.

const form = document.getElementById("plan");
const answer = document.getElementById("answer");
const asked = `check${location.search}`;
let timer, controller;

const parties = () => [...form.querySelectorAll(".party")];

function draft() {
  const inputs = parties().map((line) => [...line.querySelectorAll("input")].map((input) => input.value.trim()));
  const used = inputs.filter(([name, columns]) => name || columns);
  const fields = [...form.querySelectorAll("[id^=key-]")];
  const keys = Object.fromEntries(fields.filter((field) => field.value.trim()).map((field) => [field.name, field.value.trim()]));
  return { names: used.map(([name]) => name), columns: used.map(([, columns]) => columns), keys };
}

async function check() {
  controller?.abort();
  const { signal } = (controller = new AbortController());
  try {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(asked, { method: "POST", headers, body: JSON.stringify(draft()), signal });
    const reply = await response.json();
    if (reply.error) throw new Error(reply.error);
    answer.innerHTML = reply.html;
    for (const [name, value] of Object.entries(reply.defaults ?? {})) showDefault(name, value);
    for (const field of form.querySelectorAll(".field[id]")) field.hidden = false;
    for (const name of reply.unused ?? []) document.getElementById(`field-${name}`).hidden = true;
  } catch (error) {
    if (error.name !== "AbortError") answer.textContent = `The lab does not answer (${error.message}): was it closed?`;
  }
}

function showDefault(name, value) {
  const field = document.getElementById(`key-${name}`);
  if (field?.tagName === "SELECT") field.options[0].textContent = `default: ${value}`;
  else if (field) field.placeholder = value;
}

function changed() {
  clearTimeout(timer);
  timer = setTimeout(check, 150);
}

form.addEventListener("input", changed);
form.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("more-parties").addEventListener("click", (event) => {
  const next = parties().find((line) => line.hidden);
  if (!next) return;
  next.hidden = false;
  next.querySelector("input").focus();
  event.target.disabled = parties().every((line) => !line.hidden);
});
answer.addEventListener("click", (event) => {
  const { changes } = event.target.dataset;
  if (!changes) return;
  for (const [name, value] of new URLSearchParams(changes)) document.getElementById(`key-${name}`).value = value;
  // The button is about to go.
  document.getElementById("answer-heading").focus();
  check();
});
check();
