// The topology as a line of stations: permitted ways on are arcs on the right, ways back dashed arcs on the left.
import { duration, h, words } from "./dom.js";

const ROW = 44, TOP = 24, R = 7;

export function graph(run, chosen, onchoose) {
  const { topology, actors } = run;
  const names = Object.keys(topology.actors);
  const rows = Object.fromEntries(names.map((name, row) => [name, row]));
  const edges = names.flatMap((name) => (topology.actors[name].next ?? []).map((other) => [rows[name], rows[other]]));
  const reach = (far) => 10 + 7 * Math.sqrt(Math.max(0, far - 1)) * 2;
  const left = 14 + Math.max(0, ...edges.map(([a, b]) => (b <= a ? reach(a - b + 1) : 0)));
  const right = Math.max(12, ...edges.map(([a, b]) => (b > a + 1 ? reach(b - a) : 0)));
  const y = (row) => TOP + row * ROW;
  const path = ([a, b]) => {
    const walked = isWalked(run, names[a], names[b]);
    const kind = `${b > a ? "" : "back"} ${walked ? "walked" : ""}`;
    if (b === a + 1) return h("svg:path", { class: kind, d: `M${left} ${y(a) + R}V${y(b) - R}` });
    const bend = b > a ? reach(b - a) : -reach(a - b + 1);
    const side = left + (b > a ? 1 : -1) * R;
    return h("svg:path", { class: kind, d: `M${side} ${y(a) + 2}C${side + bend} ${y(a) + 8} ${side + bend} ${y(b) - 8} ${side} ${y(b) - 2}` });
  };
  const text = left + R + right + 4, width = text + 190;
  const station = (name) => {
    const actor = actors[name];
    const state = actor?.status === "idle" || !actor ? "idle" : actor.status;
    const here = run.position === name && run.status === "running" && !Object.values(actors).some((one) => one.status === "running") ? "here" : "";
    const facts = !actor ? (topology.end.includes(name) ? "end" : topology.start.includes(name) ? "start" : "not yet")
      : [actor.invocations > 1 ? `${actor.invocations} times` : "", actor.failed ? `${actor.failed} failed` : "",
        state === "running" ? "running" : actor.seconds ? duration(actor.seconds) : ""].filter(Boolean).join(" · ");
    const choose = () => onchoose(chosen === name ? null : name);
    return h("svg:g", { class: `station is-${state} ${here} ${chosen === name ? "chosen" : ""}`, role: "button", tabindex: "0",
      "aria-pressed": chosen === name, "aria-label": `${words(name)}: ${state}, ${facts}`, onclick: choose,
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } } },
    h("svg:rect", { x: left - 14, y: y(rows[name]) - ROW / 2 + 2, width: width - left + 10, height: ROW - 4, rx: 8 }),
    h("svg:circle", { cx: left, cy: y(rows[name]), r: R }),
    h("svg:text", { x: text, y: y(rows[name]) + (facts ? -2 : 4), class: "name" }, words(name)),
    h("svg:text", { x: text, y: y(rows[name]) + 14, class: "facts" }, facts));
  };
  const height = TOP * 2 + ROW * (names.length - 1);
  return h("svg:svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
    "aria-label": `Topology ${topology.topology}: actors and permitted transitions` }, edges.map(path), names.map(station));
}

function isWalked(run, from, to) {
  const walked = run.steps.filter((step) => step.number && run.topology.actors[step.actor]).map((step) => step.actor);
  return walked.some((name, place) => name === from && walked[place + 1] === to);
}
