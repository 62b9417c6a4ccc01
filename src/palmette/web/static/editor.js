// A text field for code: line numbers, mistakes at their lines, and completion from a JSON Schema.
import { h } from "./dom.js";

/**
 * @param text what it begins with
 * @param label for screen readers
 * @param schema completes the keys of YAML; Ctrl-Space asks for it
 * @param onchange is called some time after the last key, with the text
 */
export function editor({ text, label, schema = null, onchange = null }) {
  const field = h("textarea.codefield", { spellcheck: "false", autocapitalize: "off", wrap: "off", "aria-label": label, value: text });
  const gutter = h("div.gutter", { "aria-hidden": "true" });
  const list = h("ul.completion", { role: "listbox", hidden: true, "aria-label": "Completions" });
  let wrong = new Map(), choices = [], chosen = 0, waiting;

  function number() {
    const count = field.value.split("\n").length;
    gutter.replaceChildren(...Array.from({ length: count }, (_, place) => h("span", {
      class: wrong.has(place + 1) ? "bad" : "", title: wrong.get(place + 1) }, String(place + 1))));
    gutter.scrollTop = field.scrollTop;
  }
  function changed() {
    number();
    clearTimeout(waiting);
    if (onchange) waiting = setTimeout(() => onchange(field.value), 350);
  }
  function offer() {
    choices = schema ? completions(schema, field.value, field.selectionStart) : [];
    chosen = 0;
    list.hidden = !choices.length;
    paint();
  }
  function paint() {
    list.replaceChildren(...choices.map((one, place) => h("li", { role: "option", "aria-selected": place === chosen,
      onmousedown: (event) => { event.preventDefault(); chosen = place; take(); } },
    h("b", {}, one.name), h("span.quiet", {}, one.about))));
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
    const line = field.value.slice(0, field.selectionStart).split("\n").length;
    list.style.top = `${Math.min(line * 20 - field.scrollTop + 14, field.clientHeight - 60)}px`;
  }
  function take() {
    const one = choices[chosen];
    field.setRangeText(one.insert, field.selectionStart - one.typed, field.selectionStart, "end");
    list.hidden = true;
    changed();
  }
  field.addEventListener("input", () => { changed(); offer(); });
  field.addEventListener("scroll", () => { gutter.scrollTop = field.scrollTop; });
  field.addEventListener("blur", () => { list.hidden = true; });
  field.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); offer(); return; }
    if (list.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); chosen = (chosen + step + choices.length) % choices.length; paint(); }
    else if (event.key === "Enter" || event.key === "Tab") { event.preventDefault(); take(); }
    else if (event.key === "Escape") { event.stopPropagation(); list.hidden = true; }
  });
  number();
  return {
    view: h("div.editor", {}, gutter, field, list),
    value: () => field.value,
    /** Marks the lines of mistakes. */
    mark(problems) {
      wrong = new Map(problems.filter((one) => one.line).map((one) => [one.line, one.message]));
      number();
    },
    goto(line) {
      const place = field.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      field.focus();
      field.setSelectionRange(place, place);
      field.scrollTop = Math.max(0, (line - 6) * 20);
    },
  };
}

/** The keys, or the values of a closed set, that may stand where the cursor is. */
export function completions(schema, text, cursor) {
  const lines = text.slice(0, cursor).split("\n");
  const line = lines.pop();
  const [, indent, dash, key, typed] = line.match(/^(\s*)((?:- )*)(?:([\w.]+):\s+)?([\w.]*)$/) ?? [];
  if (indent === undefined || line.trimStart().startsWith("#")) return [];
  const depth = indent.length + dash.length;
  const path = [];
  let seek = depth;
  for (const above of lines.reverse()) {
    const found = above.match(/^(\s*)((?:- )*)([\w.]+):(.*)$/);
    if (!found) continue;
    const at = found[1].length + found[2].length;
    if (at < seek || (at === seek && dash && found[2] === "" && found[4].trim() === "")) {
      path.unshift(found[3]);
      seek = found[1].length || (found[2] ? 0.5 : 0);
      if (seek === 0) break;
    }
  }
  const nodes = inside(schema, path);
  if (key) return values(nodes.flatMap((node) => resolve(schema, node.properties?.[key])), typed, schema);
  const known = new Map(nodes.flatMap((node) => Object.entries(node.properties ?? {})));
  return [...known].filter(([name]) => name.startsWith(typed) && name !== typed).map(([name, one]) => ({
    name, typed: typed.length, insert: `${name}: `, about: (one.description ?? "").split(". ")[0] }));
}

const values = (nodes, typed) => nodes.flatMap((node) => node.enum ?? (node.type === "boolean" ? [true, false] : []))
  .map(String).filter((name) => name.startsWith(typed) && name !== typed)
  .map((name) => ({ name, typed: typed.length, insert: name, about: "" }));

/** The schemas that a node stands for, its references and alternatives followed. */
function resolve(schema, node) {
  if (!node) return [];
  if (node.$ref) return resolve(schema, schema.$defs[node.$ref.split("/").pop()]);
  return [node, ...[...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])].flatMap((one) => resolve(schema, one))];
}

function inside(schema, path) {
  let nodes = resolve(schema, schema);
  for (const name of path) {
    nodes = nodes.flatMap((node) => resolve(schema, node.properties?.[name] ?? (typeof node.additionalProperties === "object" ? node.additionalProperties : null)))
      .flatMap((node) => [node, ...resolve(schema, node.items)]);
  }
  return nodes;
}
