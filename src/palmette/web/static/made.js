// What a run delivers: a pull request as a forge shows it, a model with its verdict, leaderboard and form.
import { api, diff, doing, duration, h, id, mark, problems, words } from "./dom.js";

/** A panel that fetches what it shows. */
function fetched(path, show) {
  const place = h("div", { "aria-busy": "true" }, h("p.quiet", {}, "Reading …"));
  api(path).then((found) => place.replaceChildren(show(found)), (error) => place.replaceChildren(problems(error)))
    .finally(() => place.removeAttribute("aria-busy"));
  return place;
}

export const pullRequestPanel = (name) => fetched(`runs/${id(name)}/pull_request`, (made) => {
  const body = h("div.prose");
  body.innerHTML = made.html; // rendered by the server without HTML of its own
  return h("article.pull", {}, h("h2", {}, made.title),
    h("p.quiet", {}, h("span.branch", {}, made.branch), " into ", h("span.branch", {}, made.base), " · ",
      /^https?:/.test(made.url) ? h("a", { href: made.url, rel: "noreferrer" }, made.url) : made.pushed_to ? `pushed to ${made.pushed_to}` : "local, nothing was pushed"),
    body, h("h3", {}, `${made.files.length} files changed`), diff(made.files, "No file is changed."));
});

export const reportPanel = (name) => h("iframe.report", { src: `/api/runs/${id(name)}/report`, title: "Report", sandbox: "", loading: "lazy" });

export const modelPanel = (name) => fetched(`runs/${id(name)}/model`, (made) => h("div.model", {},
  h("p.headline", {}, made.headline),
  h("ul.verdict", {}, made.lines.map((one) => h("li", {}, mark(one.status), " ", one.text))),
  h("dl.facts", {}, made.quantities.map((one) => h("div.meter", {}, h("dt", {}, one.label), h("dd", {}, one.value)))),
  h("div.columns", {}, leaderboard(made), form(name, made.row)),
  importances(made.importances),
  h("p.quiet", {}, "Delivered to ", h("code", {}, made.folder))));

const leaderboard = (made) => h("table.data", {}, h("caption", {}, "Leaderboard ", h("span.quiet", {}, made.measured)),
  h("thead", {}, h("tr", {}, ["Candidate", "Track", "Score", "95 % interval", "Training"].map((one) => h("th", { scope: "col" }, one)))),
  h("tbody", {}, made.leaderboard.map((one) => h("tr", { class: one.chosen ? "chosen" : "" },
    h("th", { scope: "row" }, one.name, one.chosen ? h("span.tag", {}, "chosen") : null), h("td", {}, one.track), h("td.number", {}, one.score),
    h("td.number", {}, one.interval), h("td.number", {}, duration(one.seconds))))));

function importances(found) {
  if (!found.length) return null;
  const most = Math.max(...found.map((one) => one.drop), 1e-9);
  return h("table.data", {}, h("caption", {}, "What the score loses when a column is shuffled"),
    h("tbody", {}, found.map((one) => h("tr", {}, h("th", { scope: "row" }, one.column),
      h("td.wide", {}, h("meter", { max: most, value: Math.max(0, one.drop), "aria-hidden": "true" })),
      h("td.number", {}, one.drop.toFixed(3))))));
}

/** A field for each column; numbers stay numbers, an empty field is a missing value, and a history is JSON. */
function form(name, row) {
  const fields = Object.entries(row).filter(([, value]) => !String(value).startsWith("data:")).map(([column, value]) => {
    const number = typeof value === "number", list = Array.isArray(value);
    const input = list ? h("textarea", { rows: 12 }, JSON.stringify(value, null, 1)) : h("input", { type: number ? "number" : "text", step: "any", value: value ?? "", autocomplete: "off" });
    return { column, view: h("label", {}, h("span", {}, column), input),
      value: () => (input.value === "" ? null : list ? JSON.parse(input.value) : number ? Number(input.value) : input.value) };
  });
  const answer = h("output", { "aria-live": "polite" });
  const ask = doing(async () => {
    answer.replaceChildren(h("p.quiet", {}, "Asking … the first answer waits for the endpoint to start."));
    try {
      const made = await api(`runs/${id(name)}/model`, "POST", { ...row, ...Object.fromEntries(fields.map((one) => [one.column, one.value()])) });
      answer.replaceChildren(prediction(made));
    } catch (error) {
      answer.replaceChildren(problems(error));
    }
  });
  return h("form.ask", { onsubmit: ask }, h("h3", {}, "Ask the model"), answer, h("div.fields", {}, fields.map((one) => one.view)),
    h("p.actions", {}, h("button", {}, "Predict")));
}

function prediction(made) {
  const value = made.prediction ?? Object.values(made)[0];
  if (Array.isArray(value)) return h("table.data", {}, h("thead", {}, h("tr", {}, Object.keys(value[0]).map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", {}, value.map((row) => h("tr", {}, Object.values(row).map((one) => h("td.number", {}, typeof one === "number" ? one.toPrecision(6) : String(one)))))));
  const shares = Object.entries(made.probabilities ?? {}).sort((a, b) => b[1] - a[1]).slice(0, 6);
  return h("div.prediction", {}, h("p.answer", {}, typeof value === "number" ? value.toPrecision(6) : String(value)),
    shares.map(([label, share]) => h("label", {}, h("span", {}, label), h("meter", { max: 1, value: share }), h("span.number", {}, `${(share * 100).toFixed(1)} %`))));
}

const dollars = (one) => (one.unpriced ? "unknown" : `$${one.money.toFixed(4)}`);

/** The calls of models; what was asked and answered is fetched when it is opened. */
export const callsPanel = (name) => fetched(`runs/${id(name)}/calls`, (made) => h("div", {},
  made.earlier ? h("p.quiet", {}, `${made.earlier} earlier calls are left out.`) : null,
  h("table.data.calls", {}, h("caption", {}, "Model calls"),
    h("thead", {}, h("tr", {}, ["", "Role", "Asked by", "Tokens in", "Tokens out", "Cost", "Time"].map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", {}, made.calls.map((one) => call(name, one)).flat()))));

function call(name, one) {
  const detail = h("tr", { hidden: true }, h("td", { colspan: 7 }));
  const open = h("button.small", { type: "button", "aria-expanded": "false", onclick: doing(async () => {
    if (!detail.firstChild.children.length) {
      const made = await api(`runs/${id(name)}/calls/${one.number}`);
      detail.firstChild.replaceChildren(...[...made.asked, { speaker: "answer", text: made.answer }].map((part) =>
        h("details", { open: part.speaker !== "system" }, h("summary", {}, part.speaker), h("pre.code", { tabindex: "0" }, part.text))));
    }
    detail.hidden = !detail.hidden;
    open.setAttribute("aria-expanded", !detail.hidden);
  }) }, `Call ${one.number}`);
  return [h("tr", {}, h("td", {}, open), h("th", { scope: "row" }, words(one.role)), h("td", {}, words(one.actor || "opening")),
    h("td.number", {}, one.input_tokens.toLocaleString()), h("td.number", {}, one.output_tokens.toLocaleString()),
    h("td.number", {}, dollars(one)), h("td.number", {}, duration(one.seconds))), detail];
}
