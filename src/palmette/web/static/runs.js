// The list of runs, and the questions of all of them.
import { ago, api, doing, duration, h, id, pill, toast, words } from "./dom.js";

const STATES = ["running", "waiting", "finished", "stopped", "failed", "interrupted", "killed", "unreadable"];
const filters = { state: "", environment: "", text: "" };

export async function runsPage() {
  const list = h("ol.runs");
  const more = h("button.plain", { type: "button", onclick: doing(() => load(more.dataset.next)) }, "Show earlier runs");
  const note = h("p.quiet.empty", { hidden: true });

  async function load(before = "") {
    const found = await api(`runs?${new URLSearchParams({ ...filters, before })}`);
    if (!before) list.replaceChildren();
    list.append(...found.runs.map(line));
    more.hidden = !found.next;
    more.dataset.next = found.next ?? "";
    note.hidden = list.children.length > 0;
    note.replaceChildren(...(found.next ? ["None of the newest runs fits."] : Object.values(filters).some(Boolean) ? ["No run fits."]
      : ["There are no runs yet. ", h("a", { href: "#/start" }, "Start one"), "."]));
  }
  let typing;
  const change = (name) => (event) => {
    filters[name] = event.target.value;
    clearTimeout(typing);
    typing = setTimeout(load, name === "text" ? 200 : 0);
  };
  const option = (value, shown = words(value)) => h("option", { value, selected: value === filters.state || value === filters.environment }, shown);
  const form = h("form.filters", { role: "search", onsubmit: (event) => event.preventDefault() },
    h("input", { type: "search", placeholder: "Search by name or reason", "aria-label": "Search runs", value: filters.text, oninput: change("text") }),
    h("select", { "aria-label": "State", onchange: change("state") }, option("", "Any state"), STATES.map((one) => option(one))),
    h("select", { "aria-label": "Kind", onchange: change("environment") },
      option("", "Any kind"), option("features", "Feature views"), option("automl", "Models"), option("topology", "Topologies")));
  await load();
  const again = setInterval(() => { if (!document.hidden && list.children.length <= 50) load(); }, 5000);
  return {
    title: "Runs",
    view: [h("div.head", {}, h("h1", {}, "Runs"), form), list, note, h("p.more", {}, more)],
    leave: () => clearInterval(again),
  };
}

const KINDS = { features: "feature view", automl: "model", topology: "topology" };

function line(run) {
  const [, name] = run.id.match(/^\d{8}-\d{6}-(.+)-[0-9a-f]{8}$/) ?? [null, run.id];
  const state = run.waiting ? "waiting" : run.status;
  return h("li", {}, h("a.run", { href: `#/run/${id(run.id)}` },
    pill(state, run.waiting ? "waits for you" : words(run.status)),
    h("span.name", {}, name),
    h("span.kind", {}, KINDS[run.environment] ?? run.what ?? ""),
    h("span.reason", {}, run.reason.split("\n")[0]),
    h("span.when", { title: new Date(run.started * 1000).toLocaleString() },
      ago(run.started), run.ended ? ` · ${duration(run.ended - run.started)}` : "")));
}

export async function questionsPage() {
  const waiting = await api("questions");
  const cards = waiting.map((one) => h("article", {},
    h("p.over", {}, h("a", { href: `#/run/${id(one.run)}` }, one.run)), question(one.run, one)));
  return {
    title: "Questions",
    view: [h("div.head", {}, h("h1", {}, "Questions")),
      cards.length ? cards : h("p.quiet.empty", {}, "Nobody waits for an answer.")],
  };
}

/** A question with its form. An approval has two answers; others take words, or “I cannot say”. */
export function question(run, one) {
  const field = h("textarea", { rows: 2, required: true, "aria-label": "Your answer", maxlength: 10000 });
  const send = (answer) => doing(async () => {
    await api(`runs/${id(run)}/answers/${id(one.id)}`, "POST", { answer });
    card.replaceChildren(h("p.quiet", {}, answer ? "Answered." : "The run goes on without an answer."));
    document.dispatchEvent(new Event("palmette:answered"));
    toast("Your answer was passed on.");
  });
  const about = one.actor ? `${words(one.actor)} asks` : one.by === "planner" ? "The planner asks" : "Before the run begins";
  const card = h("form.question", { onsubmit: (event) => send(field.value)(event) },
    h("p.over", {}, pill("waiting", one.by === "approval" ? "Your approval" : about), h("span.quiet", {}, ago(one.at))),
    h("p.asked", {}, one.question),
    one.by === "approval"
      ? h("p.actions", {}, h("button", { type: "button", onclick: send("yes") }, "Agree"),
        h("button.plain", { type: "button", onclick: send("no") }, "Decline"))
      : [field, h("p.actions", {}, h("button", {}, "Answer"),
        h("button.plain", { type: "button", onclick: send("") }, "I cannot say"))]);
  return card;
}
