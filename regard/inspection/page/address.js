// The address as the page's memory: text and languages stand in its fragment, which no browser sends to a server.

/** What the fragment says: { text, from, to }, each a string, empty where it says nothing. */
export function readAddress() {
  const said = new URLSearchParams(location.hash.slice(1));
  return { text: said.get("text") ?? "", from: said.get("from") ?? "", to: said.get("to") ?? "" };
}

/** Keep text and languages in the address, so that a reload or a friend finds them again. */
export function writeAddress({ text, from, to }) {
  const said = text ? `#${new URLSearchParams({ from, to, text })}` : location.pathname + location.search;
  if (said !== location.hash) history.replaceState(null, "", said);
}
