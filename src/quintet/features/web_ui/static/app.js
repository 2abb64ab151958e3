// The life of every page: theme, keys that go somewhere, the search in settings. A session's page adds its own.
import { followSession } from "./session.js";
import { moveTasks } from "./board.js";

const root = document.documentElement;
const themes = ["auto", "light", "dark"];

function useTheme(name) {
  if (name === "auto") delete root.dataset.theme;
  else root.dataset.theme = name;
  localStorage.setItem("quintet-theme", name);
}

useTheme(localStorage.getItem("quintet-theme") || "auto");
document.getElementById("theme")?.addEventListener("click", () => {
  const now = localStorage.getItem("quintet-theme") || "auto";
  useTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
});

const search = document.getElementById("find-setting");
search?.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const group of document.querySelectorAll(".group")) {
    let any = false;
    for (const one of group.querySelectorAll(".setting")) {
      one.hidden = !words.every((word) => one.textContent.toLowerCase().includes(word));
      any ||= !one.hidden;
    }
    group.hidden = !any;
  }
});

// What a change of a setting would write into the file.
for (const form of document.querySelectorAll(".setting")) {
  const field = form.elements.value;
  if (!field) continue;
  const line = document.createElement("small");
  line.className = "writes";
  form.append(line);
  const show = () => { line.textContent = field.value === field.dataset.was ? "" : `writes ${form.elements.key.value} = ${field.value}`; };
  field.dataset.was = field.value;
  field.addEventListener("input", show);
}

// Enter begins a session as it sends a request in one.
const first = document.getElementById("first");
first?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.altKey || event.isComposing) return;
  event.preventDefault();
  first.form.requestSubmit();
});

// g and a letter: somewhere else. ?: the list of keys.
export const typing = (element) => element?.closest?.("input, textarea, select, [contenteditable]");
let going = 0;
document.addEventListener("keydown", (event) => {
  if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const home = document.querySelector(".brand")?.getAttribute("href") || "/";
  const project = document.querySelector(".project")?.getAttribute("href") || home;
  const places = { p: home, s: project, t: `${project}tasks`, c: `${project}cost`, a: `${project}agents`, m: `${project}models`, r: `${project}remote`, ",": `${project}settings` };
  if (Date.now() - going < 1500 && places[event.key]) {
    event.preventDefault();
    location.href = places[event.key];
    return;
  }
  going = event.key === "g" ? Date.now() : 0;
  if (event.key === "?") document.getElementById("keys")?.showModal();
});

// One chip is open at a time, and a click elsewhere closes it.
document.addEventListener("click", (event) => {
  for (const one of document.querySelectorAll(".chip[open]")) if (!one.contains(event.target)) one.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const one of document.querySelectorAll(".chip[open]")) {
    one.open = false;
    one.querySelector("summary").focus();
    event.stopImmediatePropagation();
  }
});

// The tabs of a phone: which of the three parts of a session's page is in view.
for (const tab of document.querySelectorAll("[data-tab]")) {
  tab.addEventListener("click", () => {
    document.body.dataset.shows = tab.dataset.tab;
    for (const one of document.querySelectorAll("[data-tab]")) one.setAttribute("aria-selected", String(one === tab));
  });
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const all = [...document.querySelectorAll("[data-tab]")];
    if (step) { event.preventDefault(); const next = all[(all.indexOf(tab) + step + all.length) % all.length]; next.focus(); next.click(); }
  });
}
root.classList.add("script");

if (document.body.dataset.page === "session") followSession();
if (document.querySelector(".board")) moveTasks();
