// Which page is shown, and how many questions wait.
import { api, h, problems } from "./dom.js";
import { questionsPage, runsPage } from "./runs.js";
import { runPage } from "./run.js";
import { startPage } from "./start.js";

const PAGES = [
  [/^#\/run\/([^/]+)(?:\/([^/]+))?$/, runPage],
  [/^#\/start(?:\/(\w+))?$/, startPage],
  [/^#\/questions$/, questionsPage],
  [/^(?:#\/?)?(?:\?.*)?$/, runsPage],
];
let leave = () => {};

async function show() {
  leave();
  leave = () => {};
  const main = document.getElementById("main");
  const hash = location.hash.startsWith("#/") ? location.hash : "";
  const [pattern, page] = PAGES.find(([one]) => one.test(hash)) ?? PAGES.at(-1);
  const given = (hash.match(pattern) ?? []).slice(1).map((part) => part && decodeURIComponent(part));
  document.querySelectorAll(".bar nav a").forEach((link) => {
    const here = link.getAttribute("href") === (hash.startsWith("#/run/") ? "#/" : hash || "#/");
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  try {
    const made = await page(...given);
    leave = made.leave ?? leave;
    main.replaceChildren(...[made.view].flat());
    document.title = made.title ? `${made.title} · Palmette` : "Palmette";
  } catch (error) {
    main.replaceChildren(h("h1", {}, "This page cannot be shown"), problems(error));
  }
  window.scrollTo(0, 0);
}

async function count() {
  const asked = document.getElementById("asked");
  const waiting = await api("questions").catch(() => []);
  asked.hidden = !waiting.length;
  asked.textContent = waiting.length;
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(input|textarea|select)$/i.test(event.target.tagName)) return;
  const search = document.querySelector("input[type=search]");
  if (search) {
    event.preventDefault();
    search.focus();
  }
});
window.addEventListener("hashchange", show);
document.addEventListener("palmette:answered", count);
setInterval(count, 10000);
count();
show();
