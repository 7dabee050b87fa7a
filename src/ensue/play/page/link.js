// Query, events and settings in the fragment of the address, which no server ever sees.

const LONGEST = 200_000;

async function through(stream, data) {
  const reader = new Blob([data]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(reader).arrayBuffer());
}

export async function encode(state) {
  const data = new TextEncoder().encode(JSON.stringify(state));
  const packed = await through(new CompressionStream("deflate-raw"), data);
  let text = "";
  for (const byte of packed) text += String.fromCharCode(byte);
  const coded = btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return coded.length > LONGEST ? null : coded;
}

export async function decode(coded) {
  const text = atob(coded.replaceAll("-", "+").replaceAll("_", "/"));
  const packed = Uint8Array.from(text, (char) => char.charCodeAt(0));
  const data = await through(new DecompressionStream("deflate-raw"), packed);
  const state = JSON.parse(new TextDecoder().decode(data));
  const settings = state.settings !== null && typeof state.settings === "object" ? state.settings : {};
  return { query: String(state.query ?? ""), events: String(state.events ?? ""), settings };
}
