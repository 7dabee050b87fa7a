// The stream event by event: the automaton with what is alive, and what each event did.

import { h, picture } from "./dom.js";

const chips = (bindings) => Object.entries(bindings).map(([name, at]) =>
  h("span", { class: "chip" }, `${name} ${at.length > 12 ? `${at.slice(0, 12).join(" ")} …` : at.join(" ")}`));

// A query on derived streams is stepped through level by level: each has an automaton and events.
export function step(answer, page) {
  if (answer.levels.length === 1) return level(answer.levels[0], answer.ordered, page);
  const chosen = answer.levels.find((each) => each.stream === page.stream) ?? answer.levels.at(-1);
  const box = h("div", {});
  const open = (each) => {
    page.stream = each.stream;
    for (const button of buttons) button.classList.toggle("on", button.dataset.stream === each.stream);
    box.replaceChildren(...level(each, answer.ordered, page));
  };
  const buttons = answer.levels.map((each) =>
    h("button", { "data-stream": each.stream, onclick: () => open(each) }, each.stream || "the query"));
  open(chosen);
  return [h("div", { class: "switch levels", role: "group", "aria-label": "Which query" }, ...buttons), box];
}

function level(answer, ordered, page) {
  const last = answer.moments.length - 1;
  if (last < 0) {
    page.show = null;
    const why = answer.why || "there are no events";
    return [h("p", { class: "note" }, `There is nothing to step through: ${why}.`)];
  }
  const slider = h("input", { type: "range", min: 0, max: last, step: 1, id: "slider", "aria-label": "Event" });
  const output = h("output", {});
  const event = h("div", { class: "event" });
  const partial = h("div", { id: "partial" });
  const drawn = answer.svg ? picture(answer.svg) : null;
  const { moments } = answer;
  const rows = (positions) => positions.map((at) => moments[at].row);
  // The first event that the chosen row of the input brought, or what came next.
  const from = (row) => {
    const at = moments.findIndex((each) => each.row >= row);
    return at < 0 ? last : at;
  };
  let current = 0;
  const states = drawn ? [...drawn.querySelectorAll("[data-state]")] : [];

  const show = (number) => {
    const at = Math.max(0, Math.min(last, number));
    const moment = moments[at];
    current = at;
    page.position = moment.row;
    slider.value = at;
    output.textContent = `${at} of 0..${last}`;
    const alive = new Set(moment.states);
    if (moment.matches) alive.add("match");
    for (const each of states) each.setAttribute("class", alive.has(each.dataset.state) ? "alive" : "node");
    event.replaceChildren(
      h("div", { class: "values" }, ...Object.entries(moment.event).map(([name, value]) => `${name}=${value}  `)),
      h("ul", { id: "did" }, ...moment.did.map((text) => h("li", {}, text))),
    );
    const runs = moment.partial.map((each) =>
      h("tr", { onmouseenter: () => page.mark(rows(Object.values(each.bindings).flat()), false, moment.row) },
        h("td", { class: "right" }, String(each.state)),
        h("td", { class: "right" }, String(each.start)),
        h("td", { class: "right" }, each.runs),
        h("td", {}, ...chips(each.bindings))));
    const heads = ["state", "start", "runs", "events of one of them"];
    partial.replaceChildren(
      h("h3", {}, `${moment.runs} partial match${moment.runs === "1" ? "" : "es"} alive after this event`),
      runs.length
        ? h("table", {}, h("thead", {}, h("tr", {}, ...heads.map((each, n) => h("th", { class: n < 3 ? "right" : "" }, each)))),
            h("tbody", { onmouseleave: () => page.mark([], true, moment.row) }, ...runs))
        : h("p", { class: "note" }, "None: only the start is alive."),
    );
    if (!ordered) page.mark([], true, moment.row);
  };

  slider.addEventListener("input", () => show(Number(slider.value)));
  page.show = (row) => show(from(row));
  const next = (way) => {
    let at = current + way;
    while (at > 0 && at < last && !moments[at].matches) at += way;
    show(at);
  };
  const stepper = h("div", { class: "stepper" },
    h("button", { title: "The match before", onclick: () => next(-1) }, "|◀"),
    h("button", { id: "back", title: "One event back", onclick: () => show(current - 1) }, "◀"),
    slider,
    h("button", { id: "forth", title: "One event on", onclick: () => show(current + 1) }, "▶"),
    h("button", { title: "The next match", onclick: () => next(1) }, "▶|"),
    output);
  const notes = [];
  if (answer.more) notes.push(`These are the first ${last + 1} events; there are more.`);
  if (answer.late.length) notes.push(`Decided after the automaton: ${answer.late.join(", ")}.`);
  show(from(page.position));
  return [stepper, event, drawn ? h("div", { class: "scroll automaton" }, drawn) : null, partial,
    ...notes.map((text) => h("p", { class: "note" }, text))].filter(Boolean);
}
