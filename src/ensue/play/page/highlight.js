// Which parts of a query are keywords, values, parameters and comments.

const PARTS = new RegExp(
  [
    /(?<comment>^\+\+\+[^]*?^\+\+\+$|--[^\n]*|\/\*[^]*?(?:\*\/|$))/.source,
    /(?<string>'(?:[^']|'')*'?|"(?:[^"]|"")*"?)/.source,
    /(?<name>`(?:[^`]|``)*`?)/.source,
    /(?<parameter>\$[\p{L}_][\p{L}\p{N}_]*)/.source,
    /(?<number>\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/.source,
    /(?<word>[\p{L}_][\p{L}\p{N}_]*)/.source,
    /(?<other>[^]+?)/.source,
  ].join("|"),
  "gmu",
);

export function parts(text, keywords, functions) {
  const found = [];
  for (const match of text.matchAll(PARTS)) {
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    let shown = kind === "name" || kind === "other" ? "" : kind;
    if (kind === "word") {
      const called = /^\s*\(/.test(text.slice(match.index + match[0].length));
      // Words that are not reserved are names, unless they are written as keywords are.
      const word = keywords.get(match[0].toUpperCase());
      shown = word && (word.reserved || match[0] === match[0].toUpperCase()) ? "keyword" : "";
      if (called && functions.has(match[0].toLowerCase())) shown = "function";
    }
    const last = found.at(-1);
    if (last && last.kind === shown && shown === "") last.end = match.index + match[0].length;
    else found.push({ start: match.index, end: match.index + match[0].length, kind: shown });
  }
  return found;
}

// Offsets of the server count characters, those of the browser UTF-16 units.
export function units(text, offset) {
  let at = 0;
  for (let counted = 0; counted < offset && at < text.length; counted++)
    at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}
