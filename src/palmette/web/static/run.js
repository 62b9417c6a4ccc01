// One run: where it is in its topology, what it tried, what it made, what it waits for.
import { artefacts } from "./artefacts.js";
import { ago, api, diff, doing, duration, h, id, mark, pill, problems, tabs, words } from "./dom.js";
import { graph } from "./graph.js";
import { callsPanel, modelPanel, pullRequestPanel, reportPanel } from "./made.js";
import { question } from "./runs.js";

export async function runPage(name, tab = "steps") {
  const page = { name, tab, actor: null, run: null, open: new Set(), diffs: {} };
  const head = h("div.runhead"), ask = h("div.asking"), side = h("aside.side"), body = h("div.body");
  const now = h("p.now", { "aria-live": "polite" });
  const cards = new Map();
  let shownTabs = "", shownArtefacts = "", loads = 0;

  async function load() {
    const mine = ++loads;
    const run = await api(`runs/${id(name)}`);
    if (mine !== loads) return; // a later answer is newer, whichever comes first
    page.run = run;
    const open = new Set((run.questions ?? []).map((one) => one.id));
    for (const [key, card] of cards) if (!open.has(key)) { card.remove(); cards.delete(key); }
    for (const one of run.questions ?? []) {
      if (cards.has(one.id)) continue; // as it is, with what somebody is typing
      cards.set(one.id, question(name, one));
      ask.append(cards.get(one.id));
    }
    if (!run.topology) {
      head.replaceChildren(title(run));
      if (run.error ?? run.reason) body.replaceChildren(problems(run.error ?? { message: run.reason }));
      return;
    }
    head.replaceChildren(title(run), facts(run));
    progress(run.progress);
    drawGraph();
    const made = Object.keys(panels()).join();
    const versions = JSON.stringify([page.run.artefacts, page.run.status]);
    const focused = document.activeElement?.closest(".panel");
    if (made !== shownTabs || !body.children.length) {
      body.replaceChildren(tabs("Parts of the run", panels(), tabName(page.tab), (shown) => {
        page.tab = shown;
        history.replaceState(null, "", `#/run/${id(name)}/${shown.toLowerCase().replaceAll(" ", "-")}`);
      }));
      shownTabs = made;
    } else if (page.tab === "Artefacts" && versions !== shownArtefacts && !body.querySelector(".codefield")) {
      body.querySelector(".panel").replaceChildren(artefacts(page, load));
    } else if (page.tab === "Steps" && !focused) body.querySelector(".panel").replaceChildren(steps(page));
    shownArtefacts = versions;
  }
  const tabName = (shown) => Object.keys(panels()).find((one) => one.toLowerCase().replaceAll(" ", "-") === shown?.toLowerCase());
  const panels = () => ({
    Steps: () => steps(page),
    Artefacts: () => artefacts(page, load),
    ...(page.run.artefacts.pull_request ? { "Pull request": () => pullRequestPanel(name) } : {}),
    ...(page.run.artefacts.delivery ? { Model: () => modelPanel(name), Report: () => reportPanel(name) } : {}),
    Costs: () => costs(page.run),
    ...(page.run.models.all.calls ? { "Model calls": () => callsPanel(name) } : {}),
  });
  function drawGraph() {
    const open = side.querySelector("details")?.open ?? window.innerWidth > 900;
    side.replaceChildren(h("details", { open }, h("summary", {}, "Topology"), graph(page.run, page.actor, (chosen) => {
      page.actor = chosen;
      drawGraph();
      body.querySelector("[role=tab]")?.click();
      body.querySelector(".panel")?.replaceChildren(steps(page));
    })));
  }
  function progress(found) {
    now.replaceChildren(...(found && page.run?.status === "running" ? [h("b", {}, words(found.actor)), ` ${found.message}`] : []));
  }

  await load();
  const live = new EventSource(`/api/runs/${id(name)}/live`);
  let soon;
  const refresh = (wait) => { clearTimeout(soon); soon = setTimeout(() => load().catch(() => live.readyState < EventSource.CLOSED && refresh(1000)), wait); };
  live.addEventListener("change", () => refresh(150));
  live.addEventListener("progress", (event) => progress(JSON.parse(event.data)));
  const clock = setInterval(() => { if (page.run?.status === "running" && page.run.topology) head.replaceChildren(title(page.run), facts(page.run)); }, 1000);
  return {
    title: name,
    view: [head, now, ask, h("div.split", {}, side, body)],
    leave: () => { live.close(); clearInterval(clock); clearTimeout(soon); },
  };
}

function title(run) {
  const [, stamp, name] = run.id.match(/^(\d{8}-\d{6})-(.+)-[0-9a-f]{8}$/) ?? [null, "", run.id];
  const waits = run.questions?.length && run.status !== "finished";
  const running = run.status === "running";
  return h("header", {},
    h("p.over", {}, h("a", { href: "#/" }, "Runs"), " / ", h("span.quiet", {}, stamp || run.what || "")),
    h("div.titled", {},
      h("h1", {}, name), pill(waits && running ? "waiting" : run.status, waits && running ? "waits for you" : words(run.status)),
      h("span.actions", {},
        running ? h("button.plain", { type: "button", onclick: doing(() => api(`runs/${id(run.id)}/stop`, "POST", {})) }, "Stop") : null,
        !running && run.topology ? resumeButton(run) : null)),
    run.reason || run.error ? h("div.why", { role: "status" }, h("p", {}, run.error?.message ?? run.reason),
      run.error?.remedy ? h("p.quiet", {}, run.error.remedy) : null, approval(run)) : null);
}

const resumeButton = (run) => h("button.plain", {
  type: "button", title: "Goes on where it was; what depends on edited artefacts is made again.",
  onclick: doing(() => api(`runs/${id(run.id)}/resume`, "POST", {})),
}, "Resume");

/** A run that stopped because nobody was there to agree. */
function approval(run) {
  const [, actor] = run.reason?.match(/to agree, resume with --approve (\w+)/) ?? [];
  return actor && run.status !== "running" ? h("p.actions", {}, h("button", {
    type: "button", onclick: doing(() => api(`runs/${id(run.id)}/resume`, "POST", { agreed: [actor] })),
  }, `Agree to ${words(actor)} and resume`)) : null;
}

/** What was spent of what may be spent. */
function facts(run) {
  const { spent, limits } = run;
  const going = run.status === "running" && !run.questions.length ? Math.max(0, Date.now() / 1000 - run.last) : 0;
  const meter = (label, used, limit, shown, left) => h("div.meter", {},
    h("dt", {}, label), h("dd", {}, shown,
      limit ? h("span.quiet", {}, ` of ${left}`) : null,
      limit ? h("progress", { max: limit, value: Math.min(used, limit), "aria-label": `${label} used` }) : null));
  return h("dl.facts", {},
    meter("Time", spent.seconds + going, limits.seconds, duration(spent.seconds + going), duration(limits.seconds)),
    meter("Steps", spent.steps, limits.steps, run.decisions, limits.steps),
    meter("Attempts", spent.attempts, limits.attempts, spent.attempts, limits.attempts),
    spent.tokens || limits.money ? meter("Tokens", spent.tokens, limits.tokens, spent.tokens.toLocaleString(), limits.tokens?.toLocaleString()) : null,
    spent.money || limits.money ? meter("Cost", spent.money, limits.money, `$${spent.money.toFixed(3)}`, `$${limits.money}`) : null,
    h("div.meter", {}, h("dt", {}, "Started"), h("dd", {}, ago(run.started))));
}

function steps(page) {
  const { run, actor } = page;
  const shown = run.steps.filter((step) => !actor || step.actor === actor);
  const list = h("ol.steps", {}, shown.map((step) => stepLine(page, step)));
  return h("div", {},
    actor ? about(run, actor) : null,
    run.earlier ? h("p.quiet", {}, `${run.earlier.toLocaleString()} earlier events are left out.`) : null,
    shown.length ? list : h("p.quiet.empty", {}, actor ? "It has not run yet." : "Nothing has happened yet."));
}

function about(run, name) {
  const actor = run.actors[name];
  if (!actor) return null;
  return h("section.about", {}, h("h2", {}, words(name)),
    h("p.quiet", {}, actor.inputs.length ? `from ${actor.inputs.map(words).join(", ")}` : "",
      actor.makes.length ? ` makes ${actor.makes.map(words).join(", ")}` : ""),
    checks(actor.checks), actor.violations.map(violation));
}

export function checks(found) {
  if (!found.length) return null;
  return h("table.checks", {}, h("caption", {}, "Checks"), h("tbody", {}, found.map((one) => h("tr", {},
    h("td", {}, mark(one.status)), h("th", { scope: "row" }, one.name), h("td", {}, one.detail,
      one.evidence ? h("details", {}, h("summary", {}, "evidence"), h("pre", { tabindex: "0" }, one.evidence)) : null),
    h("td.number", {}, one.seconds ? duration(one.seconds) : "")))));
}

const violation = (one) => h("div.violation", {},
  h("p", {}, h("code", {}, one.code), " ", one.message),
  one.evidence ? h("details", {}, h("summary", {}, "evidence"), h("pre", { tabindex: "0" }, one.evidence)) : null);

function stepLine(page, step) {
  const { run } = page;
  const failed = step.attempts.filter((one) => !one.ok);
  const current = step.outcome === "unfinished" && run.status === "running";
  const state = current ? "running" : { unfinished: "killed", done: "passed", reused: "skipped", answered: "passed" }[step.outcome] ?? step.outcome;
  const key = `${step.number}-${step.actor}`;
  const lines = [
    mark(state), h("span.name", {}, words(step.actor)),
    h("span.outcome", {}, [current ? "running" : words(step.outcome),
      step.attempts.length > 1 ? `${step.attempts.length} attempts` : ""].filter(Boolean).join(" · ")),
    h("span.number", {}, step.seconds ? duration(step.seconds) : ""),
  ];
  const note = step.note ? h("p.note", {}, step.note) : null;
  const tried = step.attempts.filter((one) => !one.ok || one.fix || step.attempts.length > 1);
  if (!tried.length) return h("li.step", {}, h("div.line", {}, lines), note);
  const detail = h("details", { open: page.open.has(key) || (failed.length > 0 && step === run.steps.at(-1)),
    ontoggle: (event) => page.open[event.target.open ? "add" : "delete"](key) },
  h("summary.line", {}, lines), h("ol.attempts", {}, step.attempts.map((one, place) => attempt(page, step, one, place))));
  return h("li.step", {}, detail, note);
}

function attempt(page, step, one, place) {
  const { run } = page;
  const before = step.attempts.slice(0, place).reverse().find((other) => other.output && other.item === one.item);
  const shown = (page.diffs[`${step.number}-${place}`] ??= h("div")); // stays open when the run goes on
  const compare = before && one.output && before.output !== one.output ? h("button.small", {
    type: "button", onclick: doing(async () => {
      if (shown.children.length) shown.replaceChildren();
      else shown.replaceChildren(diff(await api(`runs/${id(run.id)}/difference?old=${before.output}&new=${one.output}`)));
    }),
  }, "What it changed") : null;
  return h("li", { class: one.ok ? "ok" : "bad" },
    h("p", {}, mark(one.ok ? "passed" : "failed"), ` Attempt ${place + 1}`,
      one.item !== null && one.item !== undefined ? ` of part ${one.item + 1}` : "", " ",
      h("span.quiet", {}, duration(one.seconds)), " ", compare),
    one.reason ? h("p", {}, h("b", {}, "Why "), one.reason) : null,
    one.fix ? h("p", {}, h("b", {}, "Fix "), one.fix) : null,
    one.violations.map(violation), shown);
}

function costs(run) {
  const actors = Object.entries(run.actors).filter(([, one]) => one.invocations);
  const most = Math.max(...actors.map(([, one]) => one.seconds), 0.001);
  return h("div", {}, h("table.data", {}, h("caption", {}, "Time by actor"),
    h("thead", {}, h("tr", {}, ["Actor", "Invocations", "Failed attempts", "Time", ""].map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", {}, actors.map(([name, one]) => h("tr", {}, h("th", { scope: "row" }, words(name)),
      h("td.number", {}, one.invocations), h("td.number", {}, one.failed || ""), h("td.number", {}, duration(one.seconds)),
      h("td.wide", {}, h("meter", { max: most, value: one.seconds, "aria-hidden": "true" })))))));
}
