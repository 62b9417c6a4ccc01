// New runs: a model from data and a form made of the task's schema; a feature view from a run file with its editor.
import { api, doing, h, id, problems, tabs, toast, words } from "./dom.js";
import { editor } from "./editor.js";

export async function startPage(kind = "model") {
  const task = await api("schemas/task");
  return {
    title: "New run",
    view: [h("div.head", {}, h("h1", {}, "New run")),
      tabs("What to make", { Model: () => modelForm(task), "Feature view": () => featuresForm() }, kind === "features" ? "Feature view" : "Model")],
  };
}

async function start(environment, given) {
  const made = await api("runs", "POST", { environment, given });
  location.hash = `#/run/${id(made.id)}`;
}

/** A path: typed, chosen from the allowed folders, or uploaded. */
function pathField(label, { upload = false, wanted = /./, onchoose = () => {} } = {}) {
  const input = h("input", { type: "text", "aria-label": label, placeholder: "Path", autocomplete: "off", onchange: () => onchoose(input.value) });
  const box = h("div.browse", { hidden: true });
  const choose = (path) => { input.value = path; box.hidden = true; onchoose(path); };
  async function open(path) {
    const found = await api(`files?path=${id(path)}`);
    box.hidden = false;
    const entry = (name, go, folder) => h("li", {}, h("button.item", { type: "button", onclick: go }, folder ? `${name}/` : name));
    box.replaceChildren(h("p.quiet", {}, found.path), h("ul", {},
      found.parent ? entry("..", doing(() => open(found.parent)), true) : null,
      found.entries.filter((one) => one.folder || wanted.test(one.name)).map((one) => entry(one.name, one.folder ? doing(() => open(one.path)) : () => choose(one.path), one.folder))));
  }
  const file = upload ? h("input", { type: "file", id: "upload", onchange: doing(async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    toast(`Uploading ${chosen.name} …`);
    choose((await api(`uploads?name=${id(chosen.name)}`, "POST", chosen)).path);
  }) }) : null;
  return {
    value: () => input.value.trim(), choose,
    view: h("div.pathfield", {}, h("label", {}, h("span", {}, label), input),
      h("p.actions", {}, h("button.plain", { type: "button", onclick: doing(() => (box.hidden ? open("") : (box.hidden = true))) }, "Browse"),
        file ? h("label.button.plain.upload", { for: "upload" }, "Upload") : null, file), box),
  };
}

const FIRST = ["target", "metric", "problem", "budget", "constraints", "exclude"];
const LEFT_OUT = new Set(["sentence", "data", "out"]);

function modelForm(schema) {
  const sentence = h("textarea", { rows: 2, placeholder: "Predict churn without customer_id; ROC AUC at least 0.8, answers within 20 ms", "aria-label": "The request in words" });
  const data = pathField("Data", { upload: true });
  const fields = Object.entries(schema.properties).filter(([name]) => !LEFT_OUT.has(name)).map(([name, one]) => schemaField(name, one));
  const first = fields.filter((one) => FIRST.includes(one.name)).sort((a, b) => FIRST.indexOf(a.name) - FIRST.indexOf(b.name));
  const rest = fields.filter((one) => !FIRST.includes(one.name));
  const wrong = h("div");
  const submit = doing(async () => {
    wrong.replaceChildren();
    const given = { sentence: sentence.value, data: data.value() ? [data.value()] : [] };
    for (const field of fields) {
      const value = field.value();
      if (value !== null) given[field.name] = value;
    }
    await start("automl", given).catch((error) => wrong.replaceChildren(problems(error)));
  });
  return h("form.start", { onsubmit: submit }, data.view,
    h("label", {}, h("span", {}, "The request in words"), sentence), h("div.fields", {}, first.map((one) => one.view)),
    h("details", {}, h("summary", {}, "More about the task"), h("div.fields", {}, rest.map((one) => one.view))),
    wrong, h("p.actions", {}, h("button", {}, "Start"), h("span.quiet", {}, "How the request was read is shown before anything is trained.")));
}

/** A field for a property of a JSON Schema; `value()` is null where nothing was given. */
function schemaField(name, schema) {
  const kinds = [schema, ...(schema.anyOf ?? [])];
  const list = kinds.some((one) => one.type === "array");
  const choices = kinds.find((one) => one.enum)?.enum;
  const about = (schema.description ?? "").replaceAll("`", "");
  let input;
  if (choices) input = h("select", {}, h("option", { value: "" }, "—"), choices.map((one) => h("option", {}, one)));
  else if (kinds.some((one) => one.type === "boolean") && !kinds.some((one) => one.type === "string")) input = h("select", {}, ["—", "yes", "no"].map((one) => h("option", { value: one === "—" ? "" : one }, one)));
  else {
    const number = kinds.some((one) => ["integer", "number"].includes(one.type)) && !kinds.some((one) => one.type === "string");
    input = h("input", { type: number ? "number" : "text", step: "any", placeholder: list ? "several, with commas" : "", autocomplete: "off" });
  }
  const read = () => {
    const text = input.value.trim();
    if (!text) return null;
    if (list) return text.split(",").map((part) => part.trim()).filter(Boolean).map((part) => (schema.items?.type === "number" ? Number(part) : part));
    if (input.type === "number") return Number(text);
    return text === "yes" && !choices ? true : text === "no" && !choices ? false : text;
  };
  return { name, value: read, view: h("label", { title: about }, h("span", {}, words(name)), input, h("small.quiet", {}, about)) };
}

function featuresForm() {
  const place = h("div"), wrong = h("div");
  const file = pathField("Run file", { wanted: /\.ya?ml$/, onchoose: (path) => open(path).catch((error) => place.replaceChildren(problems(error))) });
  const answers = {};
  async function open(path) {
    wrong.replaceChildren();
    const named = await api(`features?run_file=${id(path)}`);
    const [schema, { text }] = await Promise.all([api("schemas/fsc"), api(`text?path=${id(named.fsc)}`)]);
    place.replaceChildren(specification(named, schema, text));
  }
  const submit = doing(async () => {
    wrong.replaceChildren();
    await start("features", { run_file: file.value(), answers }).catch((error) => wrong.replaceChildren(open_questions(error, answers)));
  });
  return h("form.start", { onsubmit: submit }, file.view, place, wrong, h("p.actions", {}, h("button", {}, "Start"),
    h("span.quiet", {}, "Ends with a pull request; nothing is merged.")));
}

/** Mistakes; of words that leave something open, with a field for the answer. */
function open_questions(error, answers) {
  const asked = (error.problems ?? []).filter((one) => /-words$/.test(one.code));
  if (!asked.length) return problems(error);
  return h("div.question", {}, h("p.asked", {}, "The specification leaves something open. Answer, then start again."), asked.map((one) => {
    const name = (one.value ?? one.field ?? "").toString();
    return h("label", {}, h("span", {}, one.message), h("input", { type: "text", onchange: (event) => { answers[name] = event.target.value; } }));
  }));
}

function specification(named, schema, text) {
  const found = h("div", { "aria-live": "polite" });
  const field = editor({ text, label: "Feature specification", schema, onchange: check });
  async function check(now) {
    const wrong = await api("check", "POST", { kind: "fsc", text: now, registry: named.dfr });
    field.mark(wrong);
    found.replaceChildren(wrong.length ? h("ul.problems", {}, wrong.map((one) => h("li", {},
      h("button.link", { type: "button", onclick: () => field.goto(one.line ?? 1) }, `line ${one.line ?? "?"}`), " ", one.message, " ", h("span.quiet", {}, one.remedy))))
      : h("p.good", {}, "✓ The specification fits the registry."));
  }
  const save = doing(async () => {
    await api("text", "PUT", { path: named.fsc, text: field.value() });
    toast("Saved.", "good");
  });
  check(text);
  return h("section", {}, h("div.titled", {}, h("h3", {}, "Specification"), h("code", {}, named.fsc.split("/").pop()),
    h("span.actions", {}, h("button.plain", { type: "button", onclick: save }, "Save"))),
  h("p.quiet", {}, "Ctrl-Space completes."), field.view, found);
}
