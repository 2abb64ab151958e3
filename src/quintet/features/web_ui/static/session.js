// A session's page: the stream of frames, the transcript it changes, questions, queue, and what is sent.
import { promptOf } from "./prompt.js";
import { sideBySide } from "./diff.js";
import { arrangePlan } from "./plan.js";

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
  let top = 0;
  const toEnd = () => { scroll.scrollTop = scroll.scrollHeight; };
  const showMissed = () => {
    follow.hidden = following;
    follow.textContent = missed ? `${missed} new ↓` : "To the end ↓";
  };
  scroll.addEventListener("scroll", () => {
    // Blocks get their height when they come into view: only a step back is a person's wish to stay there.
    if (atEnd()) following = true;
    else if (scroll.scrollTop < top - 2) following = false;
    top = scroll.scrollTop;
    if (following) missed = 0;
    showMissed();
    if (scroll.scrollTop < 400) loadOlder();
  }, { passive: true });
  follow.addEventListener("click", () => { following = true; missed = 0; toEnd(); showMissed(); });
  const grown = new ResizeObserver(() => { if (following) toEnd(); });
  grown.observe(scroll);
  grown.observe(transcript);
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
      unfold(transcript);
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
  // What a person opened or closed stays so over a reload, by the event it is of.
  const foldsKey = `quintet-folds-${main.dataset.session}`;
  const folds = JSON.parse(sessionStorage.getItem(foldsKey) || "{}");
  const unfold = (within) => {
    for (const one of within.querySelectorAll(".b > details")) {
      const known = folds[one.parentElement.dataset.seq];
      if (known !== undefined) { one.open = known; one.dataset.touched = "1"; }
    }
  };
  unfold(transcript);
  transcript.addEventListener("click", async (event) => {
    const summary = event.target.closest("summary");
    if (summary) {
      const fold = summary.parentElement;
      fold.dataset.touched = "1";
      const seq = fold.parentElement.dataset.seq;
      if (Number(seq)) { folds[seq] = !fold.open; sessionStorage.setItem(foldsKey, JSON.stringify(folds)); }
    }
    const copy = event.target.closest("button.copy");
    if (copy) {
      const text = copy.parentElement.querySelector("pre").textContent;
      try { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; } catch { copy.textContent = "Not allowed"; }
      setTimeout(() => { copy.textContent = "Copy"; }, 1500);
    }
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
    const untitled = fresh.matches(".prompt") && document.querySelector(".left li[aria-current] a[data-untitled]");
    if (untitled) { untitled.lastChild.textContent = fresh.querySelector("p").textContent; delete untitled.dataset.untitled; }
    const before = one.after ? by(one.after) : null;
    if (before) before.after(fresh);
    else if (one.after === "") transcript.prepend(fresh);
    else transcript.append(fresh);
  }

  function setParts(parts) {
    for (const [name, html] of Object.entries(parts)) {
      const place = by(name);
      if (!place) continue;
      const opened = place.querySelector("details[open]:not([data-opens])")?.id; // by somebody, not by itself
      const note = place.querySelector('input[name="note"]')?.value;
      const words = document.activeElement?.closest?.("#question") && document.activeElement.name === "words" ? document.activeElement.value : null;
      const same = name === "question" && place.querySelector("[data-question]")?.dataset.question;
      if (name === "question" && place.querySelector(".dragged")) continue;
      place.innerHTML = html;
      if (opened && by(opened)) by(opened).open = true;
      if (name === "question") {
        const now = place.querySelector("[data-question]")?.dataset.question || "";
        const noted = place.querySelector('input[name="note"]');
        if (now && now === same && note && noted) noted.value = note;
        const field = words !== null && opened && by(opened)?.querySelector('input[name="words"]');
        if (field) { field.focus(); if (now === same) field.value = words; }
        const told = place.querySelector("[data-answered]");
        if (told && (mine.has(told.dataset.answered) || (asked !== told.dataset.answered && toldOf !== told.dataset.answered))) told.remove();
        toldOf = place.querySelector("[data-answered]")?.dataset.answered || "";
        plan.placed();
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
  const mine = new Set(); // the questions that this page answered
  let toldOf = ""; // the question of which it is said who answered it: one that this page showed
  by("question").querySelector("[data-answered]")?.remove();
  const plan = arrangePlan(by("question"), send, say);
  const buttons = () => [...by("question").querySelectorAll("button[name=choice]")];
  // What lasts, or lets more run without approval, takes two presses: the first only selects it.
  const confirmed = (button) => button.dataset.since && Date.now() - button.dataset.since > 300; // no double click
  function select(button) {
    if (button.dataset.since) return;
    for (const one of by("question").querySelectorAll(".picked")) unselect(one);
    button.classList.add("picked");
    button.dataset.since = Date.now();
    button.insertAdjacentHTML("beforeend", '<span class="again"> · again to confirm</span>');
    button.focus();
  }
  function unselect(button) {
    button.classList.remove("picked");
    delete button.dataset.since;
    button.querySelector(".again")?.remove();
  }
  async function answer(form, choice, note) {
    mine.add(form.elements.question.value);
    try {
      await send("answer", { question: form.elements.question.value, choice, note });
      promptOf()?.focus();
    } catch (error) { mine.delete(form.elements.question.value); say(error.message); }
  }
  by("question").addEventListener("submit", (event) => {
    if (event.target.getAttribute("action") !== "answer") return;
    event.preventDefault();
    if (event.submitter?.matches(".lasts") && !confirmed(event.submitter)) return select(event.submitter);
    const note = event.submitter?.closest(".feedback")?.querySelector("input")?.value || "";
    answer(event.target, event.submitter?.value || "", note);
  });
  // What opens to be typed in takes the keys from then on.
  const editor = ".reword, .feedback, .accept";
  by("question").addEventListener("click", (event) => {
    const opens = event.target.closest("summary")?.parentElement;
    const field = opens?.matches(".reword, .feedback") && !opens.open && opens.querySelector("input:not([type=hidden])");
    if (!field) return;
    event.preventDefault();
    opens.open = true;
    field.focus();
  });
  // As in the terminal: a question takes no keys from a line that somebody types, but those of an empty prompt; nor
  // from any other control, nor while something of its card is being changed.
  const controls = "input, textarea, select, button, summary, a, dialog, [contenteditable]";
  function answersHere(event) {
    const at = event.target;
    if (document.querySelector("dialog[open]") || [...by("question").querySelectorAll(editor)].some((one) => one.open)) return false;
    if (at.id === "text") return !at.value && !event.isComposing;
    return !at.closest?.(controls) || Boolean(at.closest("#question button[name=choice], #details > summary"));
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const changes = event.key === "Escape" && !event.defaultPrevented && event.target.closest?.("#question")?.querySelector(".reword[open], .feedback[open]");
    if (changes) {
      event.preventDefault();
      changes.open = false;
      changes.querySelector("summary").focus();
      return;
    }
    const prompt = event.target.id === "text" ? event.target : null;
    if (event.key === "Escape" && !event.defaultPrevented && asked && prompt) { // out of the prompt first: the letters answer then
      event.preventDefault();
      prompt.blur();
      return;
    }
    if (event.key === "Escape" && !event.defaultPrevented && by("status").querySelector(".stop")) {
      event.preventDefault();
      send("interrupt", {}).catch((error) => say(error.message));
      return;
    }
    if (!asked || !answersHere(event) || event.defaultPrevented || Date.now() - appeared < 400) return;
    const form = by("question").querySelector('form[action="answer"]');
    const whole = by("details");
    if (event.key === "d" && whole) {
      event.preventDefault();
      whole.open = !whole.open;
      return;
    }
    const typed = [...form.querySelectorAll(".feedback")].find((one) => one.dataset.key === event.key);
    if (typed) {
      event.preventDefault();
      typed.open = true;
      typed.querySelector("input").focus();
      return;
    }
    const found = buttons().find((one) => one.value === event.key && !one.closest(".feedback"));
    if (!found) return;
    event.preventDefault();
    if (found.matches(".lasts") && !confirmed(found)) return select(found);
    answer(form, found.value, "");
  });

  // ── dials, queue, plan, stop: forms that are sent without leaving the page

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const path = form.getAttribute("action");
    if (!["say", "interrupt", "accept", "arrange"].includes(path) || form.id === "prompt") return;
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
    history.replaceState(null, "", `?why=${seq}`); // to be bookmarked
  }
  by("sheet").addEventListener("close", () => history.replaceState(null, "", location.pathname));
  if (by("why").firstElementChild) by("sheet").showModal();
  promptOf(send, say);
}
