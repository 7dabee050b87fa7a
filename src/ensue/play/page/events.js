// The events: a table, a text, and how they are read.

import { by, h, problem } from "./dom.js";

const FIELDS = [
  { name: "type", label: "type", about: "the column with the events' types", columns: true, usual: "type" },
  { name: "time", label: "time", about: "the column with their times", columns: true, usual: "position" },
  { name: "time_unit", label: "unit", about: "what an integer time column counts", options: ["", "s", "ms", "us", "ns"] },
  { name: "stream", label: "stream", about: "the column that names the stream of an event; none: every event is of all streams", columns: true, usual: "all", several: true },
  { name: "until", label: "until", about: "the time that has come after the last event, for NOT FOLLOWED BY" },
  { name: "params", label: "params", about: 'values of the parameters $name, as JSON: {"low": 1.5}', json: true },
];

export class Events {
  constructor(changed, chosen) {
    this.text = "";
    this.name = "";
    this.settings = {};
    this.columns = [];
    this.several = false;
    this.changed = changed;
    this.chosen = chosen;
    this.rows = [];
    this.bound = [];
    this.now = -1;
    by("as-table").onclick = () => this.view(true);
    by("as-text").onclick = () => this.view(false);
    by("events-text").addEventListener("input", () => {
      this.text = by("events-text").value;
      this.name = "";
      this.changed();
    });
    by("events-table").addEventListener("paste", (event) => {
      const text = event.clipboardData?.getData("text/plain");
      if (text) this.load(text, "");
    });
  }

  load(text, name, note = "") {
    this.text = text;
    this.name = name;
    this.note = note;
    by("events-text").value = text;
    this.changed();
  }

  view(asTable) {
    by("as-table").classList.toggle("on", asTable);
    by("as-text").classList.toggle("on", !asTable);
    by("events-table").hidden = !asTable;
    by("events-text").hidden = asTable;
  }

  fields() {
    const shown = FIELDS.filter((field) => !field.several || this.several);
    const made = shown.map((field) => {
      const value = this.settings[field.name];
      let input;
      if (field.columns || field.options) {
        const names = field.options ?? ["", ...this.columns.map((each) => each.name)];
        if (value && !names.includes(value)) names.push(value);
        input = h("select", { "data-setting": field.name });
        for (const name of names)
          input.append(h("option", { value: name, selected: name === (value ?? "") }, name || field.usual || "–"));
      } else {
        input = h("input", { "data-setting": field.name, size: 8, class: field.json ? "wide" : "" });
        input.value = value === undefined ? "" : field.json ? JSON.stringify(value) : value;
      }
      input.title = field.about;
      input.addEventListener("change", () => this.set(field, input));
      return h("label", { title: field.about }, field.label, input);
    });
    by("settings").replaceChildren(...made);
  }

  // Whether the query reads several streams.
  streams(several) {
    if (several === this.several) return;
    this.several = several;
    this.fields();
  }

  set(field, input) {
    let value = input.value.trim();
    if (field.json && value) {
      try {
        value = JSON.parse(value);
      } catch {
        value = input.value; // the server says what is wrong
      }
    }
    if (value === "") delete this.settings[field.name];
    else this.settings[field.name] = value;
    this.changed();
  }

  show(answer) {
    by("events-problem").hidden = !answer.problem;
    if (answer.problem) {
      by("events-problem").replaceChildren(problem(answer.problem));
      by("events-note").textContent = "";
      return;
    }
    this.columns = answer.columns;
    this.fields();
    const more = answer.count > answer.rows.length ? `, the first ${answer.rows.length.toLocaleString("en")} shown` : "";
    const cut = this.note ? ` (${this.note})` : "";
    by("events-note").textContent = `${answer.count.toLocaleString("en")}${more}${cut}`;
    const numbers = answer.columns.map((each) => ["int", "double", "decimal"].includes(each.type));
    const heads = answer.columns.map((each, n) =>
      h("th", { class: numbers[n] ? "right" : "" }, each.name, h("i", {}, each.type)));
    this.rows = answer.rows.map((row, at) =>
      h("tr", { "data-position": at },
        h("td", { class: "at" }, String(at)),
        ...row.map((value, column) =>
          value === null ? h("td", { class: "null" }, "NULL") : h("td", { class: numbers[column] ? "right" : "" }, value))),
    );
    const body = h("tbody", { onclick: (event) => {
      const row = event.target.closest("tr");
      if (row) this.chosen(Number(row.dataset.position));
    } }, ...this.rows);
    const table = h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, ""), ...heads)), body);
    by("events-table").replaceChildren(answer.columns.length ? table : h("p", { class: "note problem-free" }, "No events yet: paste a table here, open a file, or choose an example."));
    this.mark(this.bound, this.now, false);
  }

  // Light up the events of a match, and the event that is looked at.
  mark(positions, now = -1, scroll = true) {
    for (const at of this.bound) this.rows[at]?.classList.remove("in");
    this.rows[this.now]?.classList.remove("now");
    this.bound = positions;
    this.now = now;
    for (const at of positions) this.rows[at]?.classList.add("in");
    this.rows[now]?.classList.add("now");
    const first = this.rows[now] ?? this.rows[positions[0]];
    if (scroll && first && !by("events-table").hidden) {
      const box = by("events-table");
      const [top, bottom] = [first.offsetTop - 30, first.offsetTop + first.offsetHeight];
      if (top < box.scrollTop) box.scrollTop = top;
      else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
    }
  }
}
