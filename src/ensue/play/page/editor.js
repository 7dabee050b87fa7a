// The editor of the query: a plain text area over the same text in colours, so that typing,
// undo and the keyboard are the browser's own.

import { h } from "./dom.js";
import { parts, units } from "./highlight.js";

const MOST = 12;

export class Editor {
  constructor(place, changed) {
    this.behind = h("pre", { "aria-hidden": "true" });
    this.area = h("textarea", { spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": "Query" });
    this.keywords = new Map();
    this.functions = new Map();
    this.attributes = [];
    this.types = [];
    this.diagnostics = [];
    this.changed = changed;
    this.popup = null;
    place.append(h("div", { class: "editing" }, this.behind, this.area));
    this.area.addEventListener("input", () => {
      this.diagnostics = [];
      this.draw();
      this.complete(false);
      this.changed();
    });
    this.area.addEventListener("keydown", (event) => this.pressed(event));
    this.area.addEventListener("blur", () => this.close());
    this.area.addEventListener("click", () => this.close());
    this.area.addEventListener("mousemove", (event) => this.point(event));
    place.addEventListener("scroll", () => this.close());
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.diagnostics = [];
    this.close();
    this.draw();
  }

  // Replace a part and keep the browser's own undo.
  replace(start, end, text) {
    this.area.focus();
    this.area.setSelectionRange(start, end);
    if (!document.execCommand("insertText", false, text)) {
      this.area.setRangeText(text, start, end, "end");
      this.area.dispatchEvent(new Event("input"));
    }
    this.close();
  }

  show(diagnostics) {
    const text = this.text;
    this.diagnostics = diagnostics.map((each) => ({
      ...each,
      from: units(text, each.start),
      to: Math.max(units(text, each.end), units(text, each.start) + 1),
    }));
    this.draw();
  }

  draw() {
    const text = this.text;
    const cuts = new Set([0, text.length]);
    const pieces = parts(text, this.keywords, this.functions);
    for (const each of pieces) cuts.add(each.start);
    for (const each of this.diagnostics) cuts.add(Math.min(each.from, text.length)).add(Math.min(each.to, text.length));
    const sorted = [...cuts].sort((a, b) => a - b);
    const spans = [];
    let at = 0;
    for (let index = 0; index + 1 < sorted.length; index++) {
      const [start, end] = [sorted[index], sorted[index + 1]];
      while (at + 1 < pieces.length && pieces[at].end <= start) at++;
      const here = this.diagnostics.filter((each) => each.from <= start && end <= each.to);
      const kinds = [pieces[at]?.kind, here.some((each) => !each.warning) ? "wrong" : here.length ? "doubt" : ""];
      const name = kinds.filter(Boolean).join(" ");
      spans.push(name ? h("span", { class: name }, text.slice(start, end)) : text.slice(start, end));
    }
    const beyond = this.diagnostics.filter((each) => each.from >= text.length);
    if (beyond.length) spans.push(h("span", { class: beyond.some((each) => !each.warning) ? "wrong" : "doubt" }, "\u00a0\u00a0"));
    this.behind.replaceChildren(...spans, "\n");
  }

  select(from, to) {
    this.area.focus();
    this.area.setSelectionRange(from, to);
  }

  // Where a character stands on the page.
  place(offset) {
    const range = document.createRange();
    const walker = document.createTreeWalker(this.behind, NodeFilter.SHOW_TEXT);
    let left = offset;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (left <= node.length) {
        range.setStart(node, left);
        range.collapse(true);
        const [box] = range.getClientRects();
        if (box) return box;
        break;
      }
      left -= node.length;
    }
    return this.behind.getBoundingClientRect();
  }

  // What is under the mouse is told: a mistake, or what a word means.
  point(event) {
    const under = document.elementsFromPoint(event.clientX, event.clientY);
    const marked = under.find((each) => each.tagName === "SPAN" && this.behind.contains(each));
    let text = "";
    if (marked?.matches(".wrong, .doubt")) {
      let at = 0;
      for (let node = marked.previousSibling; node; node = node.previousSibling) at += node.textContent.length;
      const here = this.diagnostics.filter((each) => each.from <= at && at < Math.max(each.to, each.from + 1));
      text = here.map((each) => each.message + (each.hint ? `\n${each.hint}` : "")).join("\n\n");
    } else if (marked) {
      const word = marked.textContent;
      const known = marked.matches(".function") ? this.functions.get(word.toLowerCase()) : this.keywords.get(word.toUpperCase());
      if (known?.form && !marked.matches(".string, .comment")) text = `${known.form}\n${known.about}`;
    }
    this.area.title = text;
  }

  // completion

  pressed(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.complete(true);
      return;
    }
    if (!this.popup) {
      if (event.key === "Tab" && !event.shiftKey && this.area.selectionStart === this.area.selectionEnd) {
        event.preventDefault();
        document.execCommand("insertText", false, "    ");
      }
      return;
    }
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) {
      event.preventDefault();
      const size = this.popup.items.length;
      this.popup.at = (this.popup.at + moves[event.key] + size) % size;
      this.popup.chosen = true;
      this.light();
    } else if (event.key === "Tab" || (event.key === "Enter" && this.popup.chosen)) {
      event.preventDefault();
      this.accept(this.popup.items[this.popup.at]);
    } else if (event.key === "Escape" || event.key === "Enter") {
      if (event.key === "Escape") event.preventDefault();
      this.close();
    }
  }

  candidates(before, word) {
    const variables = [...new Set([...this.text.matchAll(/\bAS\s+([\p{L}_][\p{L}\p{N}_]*)/giu)].map((each) => each[1]))];
    const attributes = this.attributes.map((each) => ({ label: each.name, about: each.type, insert: quoted(each.name) }));
    const functions = [...this.functions.values()].map((each) => ({ label: each.name, about: each.form, insert: `${each.name}(` }));
    const keywords = [...this.keywords.values()].map((each) => ({ label: each.name, about: each.form }));
    const path = /([\p{L}_][\p{L}\p{N}_]*)\.([\p{L}\p{N}_.]*)$/u.exec(before);
    if (path) {
      const nested = path[2];
      return attributes
        .filter((each) => each.label.startsWith(nested))
        .map((each) => ({ ...each, label: each.label.slice(nested.length), insert: quoted(each.label.slice(nested.length)) }));
    }
    const depth = (before.match(/\[/g) ?? []).length - (before.match(/\]/g) ?? []).length;
    if (depth > 0) return [...attributes, ...functions, ...keywords];
    const names = [
      ...this.types.map((name) => ({ label: name, about: "event type", insert: quoted(name) })),
      ...variables.map((name) => ({ label: name, about: "variable" })),
    ];
    return word ? [...names, ...keywords, ...functions] : names;
  }

  complete(asked) {
    const caret = this.area.selectionStart;
    const text = this.text.slice(0, caret);
    const word = /[\p{L}_][\p{L}\p{N}_]*$/u.exec(text)?.[0] ?? "";
    const before = text.slice(0, caret - word.length);
    const opens = asked || word !== "" || /[.[]$/.test(before);
    if (!opens || inString(before)) return this.close();
    const low = word.toLowerCase();
    const all = this.candidates(before, word || asked);
    const first = all.filter((each) => each.label.toLowerCase().startsWith(low));
    const items = (first.length || !asked ? first : all).slice(0, MOST);
    if (!items.length || (items.length === 1 && items[0].label === word)) return this.close();
    if (first.some((each) => each.label === word) && !asked) return this.close();
    this.close();
    const box = this.place(caret - word.length);
    const list = h("div", { id: "completion", role: "listbox" });
    for (const item of items) {
      list.append(
        h("div", { role: "option", onmousedown: (event) => { event.preventDefault(); this.accept(item); } },
          h("span", {}, item.label), h("i", {}, item.about)),
      );
    }
    document.body.append(list);
    const room = window.innerHeight - box.bottom;
    list.style.left = `${Math.min(box.left, window.innerWidth - list.offsetWidth - 8)}px`;
    list.style.top = room > list.offsetHeight + 8 ? `${box.bottom + 4}px` : `${box.top - list.offsetHeight - 4}px`;
    this.popup = { list, items, at: 0, chosen: asked, start: caret - word.length, end: caret };
    this.light();
  }

  light() {
    [...this.popup.list.children].forEach((each, index) => each.classList.toggle("on", index === this.popup.at));
  }

  accept(item) {
    const { start, end } = this.popup;
    this.close();
    this.replace(start, end, item.insert ?? item.label);
    this.close();
  }

  close() {
    this.popup?.list.remove();
    this.popup = null;
  }
}

const quoted = (name) => (/^[\p{L}_][\p{L}\p{N}_.]*$/u.test(name) ? name : `\`${name.replaceAll("`", "``")}\``);

function inString(before) {
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return (line.replaceAll("''", "").match(/'/g) ?? []).length % 2 === 1 || line.includes("--");
}
