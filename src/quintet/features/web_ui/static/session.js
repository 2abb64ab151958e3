// A session's page: the stream of frames, the transcript it changes, questions, queue, and what is sent.
import { promptOf } from "./prompt.js";
import { sideBySide } from "./diff.js";
import { typing } from "./app.js";

const by = (id) => document.getElementById(id);

export async function send(path, fields) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(fields),
  });
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || `${answer.status}`);
  return answer.json();
}

export function followSession() {
  const main = by("main");
  const scroll = by("scroll");
  const transcript = by("transcript");
  const follow = by("follow");
  let epoch = main.dataset.epoch;
  let frame = Number(main.dataset.frame);
  let begin = Number(main.dataset.begin);
  let source = null;
  let missed = 0;
  let wasBusy = Boolean(by("status").querySelector(".stop"));
  let asked = by("question").querySelector("[data-question]")?.dataset.question || "";

  // ── following the end

  const atEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 60;
  let following = true;
  const toEnd = () => { scroll.scrollTop = scroll.scrollHeight; };
  const showMissed = () => {
    follow.hidden = following;
    follow.textContent = missed ? `${missed} new ↓` : "To the end ↓";
  };
  scroll.addEventListener("scroll", () => {
    following = atEnd();
    if (following) missed = 0;
    showMissed();
    if (scroll.scrollTop < 400) loadOlder();
  }, { passive: true });
  follow.addEventListener("click", () => { following = true; missed = 0; toEnd(); showMissed(); });
  new ResizeObserver(() => { if (following) toEnd(); }).observe(scroll);
  // A link to a block names its event; what is not loaded yet is loaded until it is there.
  async function goTo(hash) {
    const wanted = hash.match(/^#e(\d+)$/);
    if (!wanted) return false;
    const find = () => transcript.querySelector(`[data-seq="${wanted[1]}"]`);
    while (!find() && begin > Number(wanted[1]) && by("older")) {
      const before = begin;
      await loadOlder();
      if (begin === before) break;
    }
    const block = find();
    if (!block) return false;
    following = false;
    block.classList.add("meant");
    block.scrollIntoView({ block: "start" });
    return true;
  }
  addEventListener("hashchange", () => goTo(location.hash));
  toEnd();

  // ── what came before

  let loading = false;
  async function loadOlder() {
    const button = by("older");
    if (loading || begin <= 1 || !button) return;
    loading = true;
    try {
      const answer = await fetch(`older?before=${begin}`);
      if (!answer.ok) return;
      const { html, begin: first } = await answer.json();
      const height = scroll.scrollHeight;
      transcript.insertAdjacentHTML("afterbegin", html);
      scroll.scrollTop += scroll.scrollHeight - height;
      begin = first;
      if (begin <= 1) button.remove();
    } finally { loading = false; }
  }
  by("older")?.addEventListener("click", loadOlder);
  if (location.hash) goTo(location.hash);

  // ── frames

  function open(old, fresh) {
    const had = [...old.querySelectorAll("details")];
    [...fresh.querySelectorAll("details")].forEach((one, at) => {
      if (had[at] && had[at].dataset.touched) { one.open = had[at].open; one.dataset.touched = "1"; }
    });
  }
  transcript.addEventListener("click", (event) => {
    const summary = event.target.closest("summary");
    if (summary) summary.parentElement.dataset.touched = "1";
    const split = event.target.closest("button.split");
    if (split) sideBySide(split);
    const link = event.target.closest("a.why");
    if (link) { event.preventDefault(); showWhy(new URL(link.href).searchParams.get("why")); }
  });

  function act(one) {
    if (one.drop) { by(one.drop)?.remove(); return; }
    if (one.grow) {
      const block = by(one.grow);
      if (!block) return;
      while (block.children.length > one.from) block.lastElementChild.remove();
      block.insertAdjacentHTML("beforeend", one.chunks.map((html) => `<div class="chunk">${html}</div>`).join(""));
      return;
    }
    const old = by(one.put);
    const box = document.createElement("template");
    box.innerHTML = one.html;
    const fresh = box.content.firstElementChild;
    if (old) { open(old, fresh); old.replaceWith(fresh); return; }
    if (!following) missed += 1;
    const before = one.after ? by(one.after) : null;
    if (before) before.after(fresh);
    else if (one.after === "") transcript.prepend(fresh);
    else transcript.append(fresh);
  }

  function setParts(parts) {
    for (const [name, html] of Object.entries(parts)) {
      const place = by(name);
      if (!place) continue;
      const opened = place.querySelector("details[open]")?.id;
      const note = place.querySelector('input[name="note"]')?.value;
      const same = name === "question" && place.querySelector("[data-question]")?.dataset.question;
      place.innerHTML = html;
      if (opened && by(opened)) by(opened).open = true;
      if (name === "question") {
        const now = place.querySelector("[data-question]")?.dataset.question || "";
        if (now && now === same && note) place.querySelector('input[name="note"]').value = note;
        if (now && now !== asked) notice("Quintet needs your input", place.querySelector("h2").textContent);
        asked = now;
        appeared = Date.now();
      }
    }
    if (following) toEnd();
  }

  function apply(told) {
    if (told.reset) { reset(); return; }
    frame = told.n;
    for (const one of told.do || []) act(one);
    if (told.do) while (transcript.children.length > 3000 && following) transcript.firstElementChild.remove();
    if (told.parts) setParts(told.parts);
    if (told.title) document.title = told.title;
    if (told.parts?.status) {
      const busy = Boolean(by("status").querySelector(".stop"));
      if (wasBusy && !busy) { by("live").textContent = by("status").textContent; notice("Quintet is done here", by("status").textContent); }
      wasBusy = busy;
    }
    if (following) toEnd();
    showMissed();
  }

  async function reset() {
    source?.close();
    try {
      const whole = await (await fetch("page", { headers: { Accept: "application/json" } })).json();
      epoch = whole.epoch; frame = whole.frame; begin = whole.begin;
      transcript.innerHTML = whole.transcript;
      setParts(whole.parts);
      document.title = whole.title;
      if (following) toEnd();
      connect();
    } catch { setTimeout(reset, 1000); }
  }

  function connect() {
    source = new EventSource(`events?after=${epoch}.${frame}`);
    source.onopen = () => { by("offline").hidden = true; };
    source.onmessage = (message) => apply(JSON.parse(message.data));
    source.onerror = () => {
      by("offline").hidden = false;
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 1000);
    };
  }
  connect();
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", (event) => { if (event.persisted) reset(); });

  // ── questions

  let appeared = 0;
  const buttons = () => [...by("question").querySelectorAll("button[name=choice]")];
  async function answer(form, choice, note) {
    try {
      await send("answer", { question: form.elements.question.value, choice, note });
      promptOf()?.focus();
    } catch (error) { say(error.message); }
  }
  by("question").addEventListener("submit", (event) => {
    event.preventDefault();
    const note = event.submitter?.closest(".feedback") ? event.target.elements.note?.value || "" : "";
    answer(event.target, event.submitter?.value || "", note);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && !event.defaultPrevented && by("status").querySelector(".stop")) {
      event.preventDefault();
      send("interrupt", {}).catch((error) => say(error.message));
      return;
    }
    if (!asked || typing(event.target) || Date.now() - appeared < 400) return;
    const form = by("question").querySelector("form");
    if (event.key === "e" && form.querySelector(".feedback")) {
      event.preventDefault();
      form.querySelector(".feedback").open = true;
      form.elements.note.focus();
      return;
    }
    const found = buttons().find((one) => one.value === event.key && !one.closest(".feedback"));
    if (!found) return;
    event.preventDefault();
    // What lasts is chosen by its key and taken by Enter: a key alone makes no rule.
    if (found.classList.contains("lasts") && found.value !== "a") { found.focus(); return; }
    answer(form, found.value, "");
  });

  // ── dials, queue, plan, stop: forms that are sent without leaving the page

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const path = form.getAttribute("action");
    if (!["say", "interrupt", "accept"].includes(path) || form.id === "prompt") return;
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form));
    if (event.submitter?.name) fields[event.submitter.name] = event.submitter.value;
    for (const one of document.querySelectorAll(".chip[open]")) one.open = false;
    try { await send(path, fields); } catch (error) { say(error.message); }
  });
  by("queue").addEventListener("click", (event) => {
    const edit = event.target.closest(".edit");
    if (!edit) return;
    const whole = edit.parentElement.querySelector(".words").dataset.whole;
    promptOf()?.change(whole, (text) => `/queued edit ${edit.dataset.number} ${text}`);
  });

  // ── notes, notices, why

  function say(text) {
    const note = document.createElement("div");
    note.className = "b lines";
    const line = document.createElement("p");
    line.className = "r-error";
    line.textContent = text;
    note.append(line);
    transcript.append(note);
    if (following) toEnd();
  }
  function notice(heading, text) {
    if (document.visibilityState === "visible" || !("Notification" in window)) return;
    if (Notification.permission === "granted") new Notification(heading, { body: text, tag: "quintet" });
  }
  async function showWhy(seq) {
    const answer = await fetch(`why/${seq}`);
    by("why").innerHTML = answer.ok ? await answer.text() : "<p>There is no reason on record.</p>";
    if (!by("sheet").open) by("sheet").showModal();
  }
  if (by("why").firstElementChild) by("sheet").showModal();
  promptOf(send, say);
}
