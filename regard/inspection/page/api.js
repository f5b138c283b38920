// What the server is asked. Every failure becomes one sentence.

/** The languages that the server translates: [{ code, name, targets }]. */
export function languages() {
  return ask("languages");
}

/** The models that do not translate: [{ name, task, reads, about }]. */
export function models() {
  return ask("models");
}

/** A model's answer, and what it looked at. An older question that is still on its way is given up. */
export function look(question) {
  return asking("look", question);
}

/** Let a language model write; `tell` is given each piece of the text. */
export async function write(question, tell) {
  const response = await fetch("v1/completions", posted(question));
  if (!response.ok) throw new Trouble(sentence(response, await response.json().catch(() => null)), response.status === 403);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.replace(/^data: /, "");
      if (data === "[DONE]") return;
      const told = JSON.parse(data);
      if (told.error) throw new Trouble(`${told.error.message}.`);
      tell(told.choices[0]?.text ?? "");
    }
  }
}

/** The translation of a text, explained. An older question that is still on its way is given up. */
export function explain(question) {
  return asking("explain", question);
}

function asking(path, question) {
  running?.abort();
  running = new AbortController();
  return ask(path, { ...posted(question), signal: running.signal });
}

function posted(question) {
  const headers = { "Content-Type": "application/json", ...(secret && { "X-API-Key": secret }) };
  return { method: "POST", headers, body: JSON.stringify(question) };
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
  const said = answer?.error?.message ?? answer?.error ?? answer?.detail;
  const wait = Number(response.headers.get("Retry-After"));
  const status = `The server answered with status ${response.status}`;
  const told = typeof said === "string" ? said.replace(/[.\s]*$/, "") : status;
  return wait > 0 && response.status === 429 ? `${told}. Try again in ${wait} s.` : `${told}.`;
}
