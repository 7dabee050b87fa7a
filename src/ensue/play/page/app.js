// The page: what is asked when, and what is shown where.

import { by, copy, h, problem, save, toast } from "./dom.js";
import { Editor } from "./editor.js";
import { Events } from "./events.js";
import { units } from "./highlight.js";
import { decode, encode } from "./link.js";
import { step } from "./steps.js";
import { compare, matches, why } from "./views.js";

const VIEWS = { matches, step, compare, why };
const STRATEGIES = ["ALL", "NEXT", "LAST", "MAX", "FIRST", "STRICT"];
const page = { tab: "matches", position: 0, show: null };
// Not randomUUID: browsers have that on encrypted pages and on this machine alone.
const id = Array.from(crypto.getRandomValues(new Uint32Array(4)), (each) => each.toString(16)).join("-");
const answers = new Map();
let token = "";
let serial = 0;
let strategy = null;
let wrong = false;
let asking = 0;
let [mostText, mostUpload] = [Infinity, Infinity];
let started = null;

// asking

const large = (most) => ({ problem: { kind: "events", message: `The playground takes ${most >> 20} MB here; use \`ensue run\` for more.` } });

async function ask(kind, more = {}) {
  if (new Blob([events.text]).size > mostText) return large(mostText);
  const request = { kind, page: id, serial: ++serial, query: editor.text, events: events.text, settings: events.settings, ...more };
  return send("ask", "application/json", JSON.stringify(request));
}

async function send(path, kind, body) {
  busy(1);
  try {
    const headers = { "Content-Type": kind };
    if (token) headers["X-Ensue-Token"] = token;
    const response = await fetch(path, { method: "POST", headers, body });
    const answer = await response.json();
    return answer.overtaken ? null : answer;
  } catch {
    return { problem: { kind: "internal", message: "The server does not answer; is `ensue play` still running?" } };
  } finally {
    busy(-1);
  }
}

function busy(change) {
  asking += change;
  by("busy").classList.toggle("on", asking > 0);
  document.body.dataset.busy = asking > 0 ? "yes" : "no";
}

// what changed

let waiting;
function changed(delay = 200) {
  clearTimeout(waiting);
  document.body.dataset.settled = "no";
  by("view").classList.add("stale");
  waiting = setTimeout(refresh, delay);
}

let reading;
function eventsChanged() {
  clearTimeout(reading);
  reading = setTimeout(async () => {
    const answer = await ask("read");
    if (!answer) return;
    events.show(answer);
    editor.attributes = answer.attributes ?? [];
    editor.types = answer.types ?? [];
  }, 100);
  changed();
}

// What is on the page survives a reload, as long as the same server runs.
function remember() {
  const work = { started, query: editor.text, events: events.text, name: events.name, settings: events.settings };
  try {
    sessionStorage.setItem("work", JSON.stringify(work));
  } catch {
    sessionStorage.removeItem("work"); // too much for the browser
  }
}

function remembered() {
  const work = JSON.parse(sessionStorage.getItem("work") ?? "null");
  return work?.started === started ? work : null;
}

const key = () => JSON.stringify([editor.text, events.text, events.settings]);

async function refresh() {
  const asked = key();
  remember();
  const answer = await ask("check");
  if (!answer || asked !== key()) return;
  if (answer.problem && !("diagnostics" in answer)) return fail(answer.problem);
  const errors = answer.diagnostics.filter((each) => !each.warning);
  wrong = errors.length > 0;
  strategy = answer.strategy;
  if (answer.streams) events.streams(answer.streams.length > 1);
  editor.show(answer.diagnostics);
  list(answer.diagnostics);
  switches();
  if (wrong) {
    by("view").classList.add("stale");
    document.body.dataset.settled = "yes";
    return;
  }
  if (answer.problem) return fail(answer.problem);
  await show();
}

function fail(found) {
  by("view").classList.remove("stale");
  by("view").replaceChildren(problem(found));
  document.body.dataset.settled = "yes";
}

function list(diagnostics) {
  by("problems").replaceChildren(...diagnostics.map((each, number) => {
    const fix = each.fix && h("button", { title: "Change the query so", onclick: (event) => {
      event.stopPropagation();
      const [start, end, text] = each.fix;
      editor.replace(units(editor.text, start), units(editor.text, end), text);
    } }, "fix");
    return h("li", { class: each.warning ? "doubt-line" : "wrong-line", onclick: () => {
      const at = editor.diagnostics[number];
      if (at) editor.select(at.from, at.to);
    } },
      h("span", { class: "place" }, `${each.line}:${each.column}`),
      h("span", {}, each.message, each.hint ? h("span", { class: "hint" }, ` — ${each.hint}`) : null), fix || null);
  }));
}

// what is shown

async function show() {
  const [tab, asked] = [page.tab, key()];
  let answer = answers.get(`${tab} ${asked}`);
  if (!answer) {
    answer = await ask(tab);
    if (!answer || tab !== page.tab || asked !== key()) return;
    if (answers.size > 20) answers.clear();
    if (!answer.problem) answers.set(`${tab} ${asked}`, answer);
  }
  by("view").classList.remove("stale");
  page.show = null;
  events.mark([], -1, false);
  by("view").replaceChildren(...(answer.problem ? [problem(answer.problem)] : VIEWS[tab](answer, page)));
  document.body.dataset.settled = "yes";
}

function open(tab) {
  page.tab = tab;
  for (const each of document.querySelectorAll("#tabs button")) each.setAttribute("aria-selected", each.dataset.tab === tab);
  if (wrong) return;
  document.body.dataset.settled = "no";
  by("view").classList.add("stale");
  show();
}

function switches() {
  const chosen = strategy?.name;
  by("strategy").replaceChildren(...STRATEGIES.map((name) =>
    h("button", { class: name === chosen ? "on" : "", disabled: !strategy, "data-choose": name, title: page.strategies?.get(name)?.about ?? "", onclick: () => choose(name) }, name)));
}

function choose(name) {
  if (!strategy) return;
  const [start, end] = [strategy.start, strategy.end].map((offset) => units(editor.text, offset));
  editor.replace(start, end, name === "ALL" ? "" : ` ${name}`);
}

Object.assign(page, {
  ask, open, choose, problem,
  strategy: () => strategy?.name,
  mark: (positions, scroll, now = -1) => events.mark(positions, now, scroll),
});

// query, events, settings together

function load(state) {
  events.settings = { ...state.settings };
  page.position = 0;
  editor.text = state.query;
  events.load(state.events, state.name ?? "", state.note ?? "");
  events.fields();
}

async function share() {
  const coded = await encode({ query: editor.text, events: events.text, settings: events.settings });
  if (coded === null) return toast("The events are too many for a link: a link holds about 200 KB");
  history.replaceState(null, "", `#s=${coded}`);
  const copied = await copy(location.href);
  toast(copied ? "The link is copied; it holds the query and the events" : "The link is in the address bar");
}

async function fromLink() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.has("token")) {
    token = given.get("token");
    sessionStorage.setItem("token", token);
    given.delete("token");
    history.replaceState(null, "", given.size ? `#${given}` : location.pathname);
  }
  if (!given.has("s")) return null;
  try {
    return await decode(given.get("s"));
  } catch {
    toast("This link cannot be read; was it cut off?");
    return null;
  }
}

const NAMES = { python: "query.py", command: "query.sh", spark: "job.py", test: "query.ceql.toml" };

async function exported(kind) {
  const answer = await ask("export", { name: events.name });
  if (!answer) return;
  const dialog = by("dialog");
  const text = answer.problem ? "" : answer[kind];
  const copying = h("button", { onclick: async () => {
    toast((await copy(text)) ? "Copied" : "Select the text and copy it");
    dialog.close();
  } }, "Copy");
  const saving = h("button", { onclick: () => save(NAMES[kind], text) }, `Save ${NAMES[kind]}`);
  const events_ = h("button", { onclick: () => save(answer.events, answer.text) }, `Save ${answer.events}`);
  dialog.replaceChildren(
    h("div", { class: "bar" }, h("h2", {}, by("export").querySelector(`[value=${kind}]`).textContent), h("span", { class: "grow" }),
      ...(answer.problem ? [] : [copying, saving, kind === "test" ? null : events_].filter(Boolean)),
      h("button", { onclick: () => dialog.close() }, "Close")),
    answer.problem ? problem(answer.problem) : h("pre", { id: "exported" }, text));
  dialog.showModal();
}

async function upload(file) {
  if (!file) return;
  const path = `upload?name=${encodeURIComponent(file.name)}`;
  const answer = file.size > mostUpload ? large(mostUpload) : await send(path, "application/octet-stream", file);
  if (!answer) return;
  if (answer.problem) {
    by("events-problem").hidden = false;
    by("events-problem").replaceChildren(problem(answer.problem));
  } else events.load(answer.text, answer.name, answer.note);
}

function generate() {
  const dialog = by("dialog");
  const count = h("input", { type: "number", min: 1, max: 5000, value: 200, id: "trades" });
  const seed = h("input", { type: "number", min: 0, value: 0, id: "seed" });
  const form = h("form", { onsubmit: async (event) => {
    event.preventDefault();
    dialog.close();
    const answer = await ask("generate", { count: Number(count.value), seed: Number(seed.value) });
    if (!answer || answer.problem) return toast(answer?.problem.message ?? "");
    events.settings = { ...events.settings, time: "stock_time", time_unit: "ms" };
    delete events.settings.type;
    events.load(answer.text, answer.name);
  } }, h("label", {}, "Trades ", count), h("label", {}, "Seed ", seed), h("button", {}, "Generate"),
    h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"));
  dialog.replaceChildren(h("div", { class: "bar" }, h("h2", {}, "Trades at a stock exchange")), form);
  dialog.showModal();
}

// light and dark

function theme(chosen) {
  document.documentElement.dataset.theme = chosen;
}
const dark = matchMedia("(prefers-color-scheme: dark)");
theme(localStorage.getItem("theme") ?? (dark.matches ? "dark" : "light"));
dark.addEventListener("change", () => localStorage.getItem("theme") ?? theme(dark.matches ? "dark" : "light"));
by("theme").onclick = () => {
  const chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("theme", chosen);
  theme(chosen);
};

// start

const editor = new Editor(by("editor"), changed);
const events = new Events(eventsChanged, (position) => {
  page.position = position;
  if (page.tab === "step" && page.show) page.show(position);
  else open("step");
});
for (const each of document.querySelectorAll("#tabs button")) each.onclick = () => open(each.dataset.tab);
by("share").onclick = share;
by("export").onchange = () => {
  const kind = by("export").value;
  by("export").value = "";
  if (kind) exported(kind);
};
by("open").onclick = () => by("file").click();
by("file").onchange = () => {
  upload(by("file").files[0]);
  by("file").value = "";
};
by("generate").onclick = generate;
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", (event) => event.relatedTarget ?? document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  upload(event.dataTransfer.files[0]);
});
window.addEventListener("hashchange", async () => {
  const state = await fromLink();
  if (state) load(state);
});

token = sessionStorage.getItem("token") ?? "";
const linked = await fromLink();
switches();
const start = await ask("start");
if (start.problem) fail(start.problem);
else {
  const named = (words) => new Map(words.map((each) => [each.name, each]));
  editor.keywords = named(start.keywords);
  editor.functions = named(start.functions);
  page.strategies = named(start.strategies);
  const groups = new Map();
  by("examples").append(h("option", { value: "" }, "choose one"));
  start.examples.forEach((each, number) => {
    if (!groups.has(each.group)) groups.set(each.group, by("examples").appendChild(h("optgroup", { label: each.group })));
    groups.get(each.group).append(h("option", { value: number }, each.title));
  });
  by("examples").onchange = () => {
    const chosen = start.examples[by("examples").value];
    if (chosen) load(chosen);
  };
  open("matches");
  started = start.started;
  [mostText, mostUpload] = [start.most_text, start.most_upload];
  const before = remembered();
  if (linked) load(linked);
  else if (before) load(before);
  else if (start.query || start.events) load(start);
  else {
    by("examples").value = 0;
    load(start.examples[0]);
  }
}
