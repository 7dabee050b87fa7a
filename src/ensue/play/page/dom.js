// Elements are made here. Text is always text: nothing that comes from events is parsed as HTML.

export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((each) => each !== null && each !== undefined && each !== false));
  return made;
}

export const by = (id) => document.getElementById(id);

// A picture of the server: parsed as XML, in which scripts do not run, and stripped of what could.
export function picture(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg") return h("p", { class: "note" }, "the picture cannot be shown");
  for (const each of parsed.querySelectorAll("script, foreignObject, style, a")) each.remove();
  return document.importNode(parsed, true);
}

export function problem(found) {
  const titles = {
    budget: "Too much for the playground",
    events: "The events cannot be read",
    settings: "This cannot be evaluated",
    query: "The query is not right",
    request: "The server refused",
    internal: "Something went wrong",
  };
  return h(
    "div",
    { class: `problem ${found.kind}`, "data-kind": found.kind },
    h("b", {}, titles[found.kind] ?? "Something went wrong"),
    found.message,
  );
}

let fading;
export function toast(text) {
  const shown = by("toast");
  shown.textContent = text;
  shown.classList.add("on");
  clearTimeout(fading);
  fading = setTimeout(() => shown.classList.remove("on"), 2600);
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "copying" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function save(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = h("a", { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}
