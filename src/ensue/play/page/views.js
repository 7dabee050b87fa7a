// Answers on the right: matches, strategies, why not.

import { h, picture } from "./dom.js";

const plural = (count, word, words) => `${count} ${count === "1" ? word : words}`;

export function matches(answer, page) {
  const took = answer.seconds < 1 ? `${Math.round(answer.seconds * 1000)} ms` : `${answer.seconds.toFixed(1)} s`;
  const kind = answer.totals ? plural(answer.count, "row", "rows") : plural(answer.count, "match", "matches");
  const [number, ...word] = kind.split(" ");
  const shown = [
    h("p", { class: "summary" },
      h("span", {}, h("b", { id: "count" }, number), ` ${word.join(" ")}`),
      h("span", {}, `in ${answer.events.toLocaleString("en")} events, ${took}`)),
    ...answer.unseen.map((text) => h("p", { class: "doubtful" }, text)),
  ];
  if (answer.svg) shown.push(h("div", { class: "scroll timeline" }, picture(answer.svg)));
  if (answer.rows.length) shown.push(rows(answer, page));
  else if (!answer.unseen.length) shown.push(h("p", { class: "note" }, "No match. ",
    h("button", { onclick: () => page.open("why") }, "Why not?")));
  if (answer.listed < Number(answer.count.replaceAll(",", "")) || /e\+/.test(answer.count))
    shown.push(h("p", { class: "note" }, `The first ${answer.listed} are listed.`));
  return shown;
}

function rows(answer, page) {
  const body = h("tbody");
  const heads = answer.totals ? answer.columns : ["match", ...answer.columns];
  const detail = h("tr", { class: "detail" });
  let chosen = null;
  answer.rows.forEach((row, number) => {
    const match = answer.matches[number];
    const cells = match ? [`${match.start}..${match.end}`, ...row] : row;
    const line = h("tr", { "data-match": number }, ...cells.map((value) => h("td", {}, value)));
    if (match) {
      line.addEventListener("mouseenter", () => page.mark(match.positions, false));
      line.addEventListener("click", async () => {
        chosen?.line.classList.remove("chosen");
        detail.remove();
        chosen = chosen?.line === line ? null : { line, positions: match.positions };
        if (!chosen) return;
        line.classList.add("chosen");
        page.mark(match.positions, true);
        const found = await page.ask("match", { number });
        if (!found || chosen?.line !== line) return;
        const inside = found.problem ? [page.problem(found.problem)] : [picture(found.svg), h("pre", {}, found.text)];
        detail.replaceChildren(h("td", { colspan: heads.length }, h("div", {}, ...inside)));
        line.after(detail);
        detail.scrollIntoView({ block: "nearest" });
      });
    }
    body.append(line);
  });
  body.addEventListener("mouseleave", () => page.mark(chosen?.positions ?? [], false));
  const head = h("thead", {}, h("tr", {}, ...heads.map((each) => h("th", {}, each))));
  return h("div", { class: "scroll" }, h("table", { class: "rows" }, head, body));
}

export function compare(answer, page) {
  const cards = answer.strategies.map((each) => {
    const chosen = page.strategy() === each.name;
    return h("div", { class: `card${chosen ? " on" : ""}`, "data-strategy": each.name },
      h("div", { class: "head" }, h("b", {}, each.name), h("span", { class: "count" }, plural(each.count, "match", "matches")),
        chosen ? null : h("button", { onclick: () => page.choose(each.name) }, "use")),
      h("div", { class: "about" }, page.strategies.get(each.name).about),
      each.problem ? h("p", { class: "problem budget" }, each.problem) : null,
      h("ul", {}, ...each.matches.map((match) =>
        h("li", { onmouseenter: () => page.mark(match.positions, false), onmouseleave: () => page.mark([], false) },
          `${match.start}..${match.end}  ${match.text}`))),
      each.matches.length ? picture(each.svg) : null);
  });
  return [h("p", { class: "note" }, "What each strategy of SELECT leaves of the matches; the first 8 of each are shown."), h("div", { class: "cards" }, ...cards)];
}

export function why(answer, page) {
  const { funnel, near } = answer;
  const body = h("tbody");
  for (const step of funnel.steps) {
    for (const text of step.endings) body.append(h("tr", { class: "ending" }, h("td"), h("td", { colspan: 4 }, text)));
    const bar = h("span", { class: "bar-of" });
    bar.style.width = `${(100 * step.share).toFixed(1)}%`;
    const events = step.events === step.of_type ? step.events : `${step.events} of ${step.of_type}`;
    body.append(h("tr", {}, h("td", {}, String(step.number)), h("td", {}, h("code", {}, step.text), bar),
      ...[events, step.starts, step.runs].map((each) => h("td", { class: "right" }, each))));
  }
  const heads = [["", ""], ["step", ""], ["events", "right"], ["starts", "right"], ["runs", "right"]];
  const shown = [
    h("h3", {}, "How far events come"),
    h("table", { class: "funnel" }, h("thead", {}, h("tr", {}, ...heads.map(([each, name]) => h("th", { class: name }, each)))), body),
    h("ul", { class: "stages" }, ...funnel.stages.map((each) =>
      h("li", {}, h("b", {}, each.matches), each.clause === "pattern" ? " matches of the pattern" : ` after ${each.clause}`))),
    funnel.sample ? h("p", { class: "note" }, `Of ${funnel.sample}; there are more.`) : null,
    h("h3", {}, "What came nearest to a match"),
  ];
  for (const miss of near.misses) {
    shown.push(h("div", { class: "miss", onmouseenter: () => page.mark(miss.positions, false), onmouseleave: () => page.mark([], false) },
      h("p", {}, h("b", {}, miss.reason)),
      h("p", { class: "bound" }, `${miss.steps} of ${miss.of_steps} steps: ${miss.bound}`),
      picture(miss.svg)));
  }
  for (const note of near.notes) shown.push(h("p", { class: "note" }, note));
  return shown.filter(Boolean);
}
