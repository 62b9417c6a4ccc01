// Elements, requests and words. Text becomes text nodes only: what runs hold is never read as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element: `h("p.note#id", {onclick, title}, "text", child)`; `svg:` before the name makes one of SVG. */
export function h(what, attributes = {}, ...children) {
  const [, space, name, rest] = what.match(/^(svg:)?([\w-]*)(.*)$/);
  const made = space ? document.createElementNS(SVG, name) : document.createElement(name || "div");
  const classes = [];
  for (const [, mark, value] of rest.matchAll(/([.#])([\w-]+)/g)) {
    if (mark === ".") classes.push(value);
    else made.id = value;
  }
  if (classes.length) made.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.setAttribute("class", [...classes, value].join(" "));
    else if (key === "value" || key === "checked") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

let token = null;

/** The JSON answer of the server; throws an Error with `code`, `remedy` and `problems`. */
export async function api(path, method = "GET", body = undefined) {
  if (method !== "GET" && !token) token = (await (await fetch("/api/session")).json()).token;
  const raw = body instanceof Blob;
  const headers = method === "GET" ? {} : { "X-Palmette-Token": token };
  if (body !== undefined && !raw) headers["Content-Type"] = "application/json";
  const sent = raw || body === undefined ? body : JSON.stringify(body);
  const answer = await fetch(`/api/${path}`, { method, headers, body: method === "GET" ? undefined : sent ?? "" });
  if (answer.ok) return answer.json();
  const found = await answer.json().catch(() => ({}));
  const error = found.error ?? { message: `The server answers ${answer.status}.`, code: "http" };
  if (error.code === "other-page" && token) {
    token = null; // the server was started again
    return api(path, method, body);
  }
  throw Object.assign(new Error(error.message), { problems: [], remedy: "", ...error });
}

export const id = encodeURIComponent;

export function toast(text, kind = "") {
  const made = h("p.toast", { class: kind }, text);
  document.getElementById("toasts").append(made);
  setTimeout(() => made.remove(), 6000);
}

/** Runs an action of a button: it is off meanwhile, and what goes wrong is shown. */
export function doing(action) {
  return async (event) => {
    event.preventDefault();
    const button = event.submitter ?? event.currentTarget;
    button.disabled = true;
    try {
      await action(event);
    } catch (error) {
      toast([error.message, error.remedy].filter(Boolean).join(" "), "bad");
    } finally {
      button.disabled = false;
    }
  };
}

export function problems(error) {
  const each = error.problems?.length ? error.problems : [{ message: error.message, remedy: error.remedy }];
  return h("ul.problems", { role: "alert" }, each.map((one) => h("li", {},
    one.line ? h("span.where", {}, `line ${one.line}`) : null, one.message, " ", h("span.quiet", {}, one.remedy ?? ""))));
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

export function ago(at) {
  const seconds = Date.now() / 1000 - at;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  const date = new Date(at * 1000);
  const clock = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const today = date.toDateString() === new Date().toDateString();
  return today ? `today, ${clock}` : `${date.toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" })}, ${clock}`;
}

export const words = (name) => String(name).replaceAll("_", " ");

const MARKS = { passed: "✓", pass: "✓", succeeded: "✓", finished: "✓", failed: "✗", fail: "✗", refused: "✗", skipped: "–",
  warning: "!", partly: "!", running: "●", waiting: "?", starting: "●" };

/** A state as a mark and a word, so that colour says nothing alone. */
export const pill = (state, shown = words(state)) =>
  h("span.pill", { class: `is-${state}` }, h("span", { "aria-hidden": "true" }, `${MARKS[state] ?? "·"} `), shown);

export const mark = (state) => h("span.mark", { class: `is-${state}`, role: "img", "aria-label": state }, MARKS[state] ?? "·");

export function diff(files, none = "No difference.") {
  if (!files.length) return h("p.quiet", {}, none);
  return h("div.diffs", {}, files.map((file) => {
    const added = file.lines.filter((line) => line.startsWith("+")).length;
    const taken = file.lines.filter((line) => line.startsWith("-")).length;
    return h("details.file", { open: file.lines.length < 400 },
      h("summary", {}, h("code", {}, file.path), h("span.added", {}, `+${added}`), h("span.taken", {}, `−${taken}`)),
      h("pre.diff", { tabindex: "0" }, file.lines.map((line) => h("span", { class: KINDS[line[0]] ?? "" }, `${line}\n`))));
  }));
}
const KINDS = { "+": "plus", "-": "minus", "@": "hunk" };

/** Tabs by name; the panel of a tab is made when it is first opened. */
export function tabs(label, panels, chosen, onchoose = () => {}) {
  const names = Object.keys(panels);
  const panel = h("div.panel", { role: "tabpanel", tabindex: "0" });
  const buttons = names.map((name) => h("button", {
    role: "tab", type: "button", onclick: () => choose(name),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) choose(names[(names.indexOf(name) + step + names.length) % names.length], true);
    },
  }, name));
  function choose(name, focus = false) {
    buttons.forEach((button, place) => {
      button.setAttribute("aria-selected", names[place] === name);
      button.tabIndex = names[place] === name ? 0 : -1;
      if (focus && names[place] === name) button.focus();
    });
    panel.setAttribute("aria-label", name);
    panel.replaceChildren(panels[name]());
    onchoose(name);
  }
  choose(names.includes(chosen) ? chosen : names[0]);
  return h("section.tabs", {}, h("div.tablist", { role: "tablist", "aria-label": label }, buttons), panel);
}
