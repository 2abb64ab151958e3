// The life of every page: theme, keys that go somewhere, the search in settings. A session's page adds its own.
import { followSession } from "./session.js";

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

// g and a letter: somewhere else. ?: the list of keys.
export const typing = (element) => element?.closest?.("input, textarea, select, [contenteditable]");
let going = 0;
document.addEventListener("keydown", (event) => {
  if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const home = document.querySelector(".brand")?.getAttribute("href") || "/";
  const project = document.querySelector(".project")?.getAttribute("href") || home;
  const places = { p: home, s: project, t: `${project}tasks`, c: `${project}cost`, a: `${project}agents`, ",": `${project}settings` };
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

if (document.body.dataset.page === "session") followSession();
