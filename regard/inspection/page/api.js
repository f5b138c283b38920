// What the server is asked. Every failure becomes one sentence.

/** The languages that the server translates: [{ code, name, targets }]. */
export function languages() {
  return ask("languages");
}

/** The translation of a text, explained. An older question that is still on its way is given up. */
export function explain(question) {
  running?.abort();
  running = new AbortController();
  return ask("explain", {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(secret && { "X-API-Key": secret }) },
    body: JSON.stringify(question),
    signal: running.signal,
  });
}

let running = null;

/** A failure that the reader is told of; `locked` where the server wants a key. */
export class Trouble extends Error {
  constructor(message, locked = false) {
    super(message);
    this.locked = locked;
  }
}

/** The key that the server asks for, kept until the tab is closed. */
export function useKey(key) {
  try {
    sessionStorage.setItem("regard.key", key);
  } catch {
    /* without storage, the page forgets it */
  }
  secret = key;
}

let secret = "";
try {
  secret = sessionStorage.getItem("regard.key") ?? "";
} catch {
  /* no storage, no key */
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const offline = "You are offline. The translation goes on when you are back.";
    throw new Trouble(navigator.onLine ? "The server cannot be reached. Is it still running?" : offline);
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  throw new Trouble(sentence(response, answer), response.status === 401 || response.status === 403);
}

function sentence(response, answer) {
  const said = answer?.error ?? answer?.detail;
  const wait = Number(response.headers.get("Retry-After"));
  const status = `The server answered with status ${response.status}`;
  const told = typeof said === "string" ? said.replace(/[.\s]*$/, "") : status;
  return wait > 0 && response.status === 429 ? `${told}. Try again in ${wait} s.` : `${told}.`;
}
