// What a run has made: read, compared with what was there before, edited and taken over by a resume.
import { api, doing, h, id, problems, toast, words } from "./dom.js";
import { editor } from "./editor.js";

export function artefacts(page, reload) {
  const { run } = page;
  const names = Object.keys(run.artefacts);
  const shown = h("div.artefact");
  const buttons = names.map((name) => h("button.item", { type: "button", onclick: doing(() => open(name)) },
    h("span", {}, words(name)), h("span.quiet", {}, `version ${run.artefacts[name].number}, by ${words(run.artefacts[name].by)}`)));
  async function open(name) {
    page.artefact = name;
    buttons.forEach((one, place) => one.setAttribute("aria-current", names[place] === name));
    const files = await api(`runs/${id(run.id)}/value?digest=${run.artefacts[name].digest}`);
    const paths = Object.keys(files).sort((a, b) => (a === "value.json") - (b === "value.json"));
    const view = h("div");
    const choose = h("select", { "aria-label": "File", onchange: () => file(choose.value) }, paths.map((path) => h("option", {}, path)));
    function file(path) {
      const isText = path !== "value.json";
      const read = h("pre.code", { tabindex: "0" }, files[path]);
      const edit = h("button.plain", { type: "button", onclick: () => write(path) }, "Edit");
      view.replaceChildren(h("p.actions", {}, edit, h("span.quiet", {}, isText ? "A text file of the artefact." : "The value as JSON.")), read);
    }
    function write(path) {
      const field = editor({ text: files[path], label: path });
      const wrong = h("div");
      const save = doing(async () => {
        wrong.replaceChildren();
        try {
          await api(`runs/${id(run.id)}/artefacts/${id(name)}`, "PUT", { path, text: field.value() });
          files[path] = field.value();
          toast("Saved. Resume the run to make again what depends on it.", "good");
          file(path);
        } catch (error) {
          wrong.replaceChildren(problems(error));
        }
      });
      view.replaceChildren(h("p.actions", {}, h("button", { type: "button", onclick: save }, "Save"),
        h("button.plain", { type: "button", onclick: () => file(path) }, "Cancel")), wrong, field.view);
    }
    shown.replaceChildren(h("div.titled", {}, h("h2", {}, words(name)), paths.length > 1 ? choose : h("code", {}, paths[0]),
      h("span.actions", {}, run.status === "running" ? null : h("button", { type: "button",
        onclick: doing(async () => { await api(`runs/${id(run.id)}/resume`, "POST", {}); await reload(); }) }, "Resume with edits"))), view);
    file(paths[0]);
  }
  shown.append(h("p.quiet.empty", {}, names.length ? "Choose an artefact to read it." : "Nothing has been made yet."));
  if (page.artefact) open(page.artefact);
  return h("div.chooser", {}, h("nav.items", { "aria-label": "Artefacts" }, buttons), shown);
}
