// The prompt: sends, keeps what is typed over a reload, offers files and commands, takes pictures, remembers inputs.
const by = (id) => document.getElementById(id);
let prompt = null;

export function promptOf(send, say) {
  if (!prompt && send && by("prompt")) prompt = begin(send, say);
  return prompt;
}

function begin(send, say) {
  const form = by("prompt");
  const text = by("text");
  const offers = by("offers");
  const draft = `quintet-draft-${by("main").dataset.session}`;
  let past = null;
  let at = -1;
  let wrap = null; // what an edited queued input becomes
  let asked = 0;

  const grow = () => { text.style.height = "auto"; text.style.height = `${Math.min(text.scrollHeight + 2, 154)}px`; };
  const put = (value) => { text.value = value; localStorage.setItem(draft, value); grow(); };
  if (matchMedia("(max-width: 767px)").matches) text.placeholder = "Type a request"; // its buttons say the rest
  put(text.value || localStorage.getItem(draft) || "");
  text.focus();

  async function submit() {
    const said = text.value;
    if (!said.trim()) return;
    const sent = wrap ? wrap(said) : said;
    wrap = null;
    put("");
    asked += 1; // offers that are still on their way come too late
    hide();
    at = -1;
    if ("Notification" in window && Notification.permission === "default") Notification.requestPermission();
    try {
      await send("say", { text: sent, id: crypto.randomUUID?.() || `${Date.now()}-${Math.random().toString(36).slice(2)}` });
      past?.push(said);
    } catch (error) {
      if (!text.value) put(said); // nothing typed is lost
      say(error.message);
    }
  }
  form.addEventListener("submit", (event) => { event.preventDefault(); submit(); });

  // ── offers

  const word = () => {
    const before = text.value.slice(0, text.selectionStart);
    const file = before.match(/(?:^|\s)@([^\s@]*)$/);
    if (file) return { kind: "file", query: file[1], start: before.length - file[1].length - 1 };
    const command = before.match(/^\/(\S*)$/);
    return command ? { kind: "command", query: command[1], start: 0 } : null;
  };
  const hide = () => { offers.hidden = true; offers.replaceChildren(); text.removeAttribute("aria-activedescendant"); };
  const chosen = () => offers.querySelector('[aria-selected="true"]');
  const choose = (one) => {
    chosen()?.setAttribute("aria-selected", "false");
    one.setAttribute("aria-selected", "true");
    text.setAttribute("aria-activedescendant", one.id);
    one.scrollIntoView({ block: "nearest" });
  };
  const take = (one) => {
    const found = word();
    if (!found) return hide();
    const end = text.selectionStart;
    put(text.value.slice(0, found.start) + one.dataset.insert + text.value.slice(end));
    text.selectionStart = text.selectionEnd = found.start + one.dataset.insert.length;
    hide();
    text.focus();
  };
  async function offer() {
    const found = word();
    const mine = ++asked;
    if (!found) return hide();
    const answer = await fetch(`offers?kind=${found.kind}&q=${encodeURIComponent(found.query)}`).catch(() => null);
    if (mine !== asked || !answer?.ok) return;
    const rows = await answer.json();
    if (mine !== asked || !rows.length) return hide();
    offers.replaceChildren(...rows.map((row, number) => {
      const one = document.createElement("li");
      one.id = `offer-${number}`;
      one.setAttribute("role", "option");
      one.setAttribute("aria-selected", "false");
      one.dataset.insert = row.insert;
      one.append(row.label);
      const about = document.createElement("span");
      about.textContent = row.about;
      one.append(about);
      return one;
    }));
    offers.hidden = false;
    choose(offers.firstElementChild);
  }
  offers.addEventListener("mousedown", (event) => { event.preventDefault(); const one = event.target.closest("li"); if (one) take(one); });
  text.addEventListener("input", () => { localStorage.setItem(draft, text.value); grow(); offer(); });
  text.addEventListener("blur", () => setTimeout(hide, 150));

  // ── keys

  async function recall(step) {
    if (past === null) past = await fetch("past").then((answer) => (answer.ok ? answer.json() : [])).catch(() => []);
    if (!past.length) return;
    at = at < 0 ? past.length : at;
    at = Math.max(0, Math.min(past.length, at + step));
    put(at === past.length ? "" : past[at]);
    text.selectionStart = text.selectionEnd = text.value.length;
  }
  text.addEventListener("keydown", (event) => {
    const open = !offers.hidden && chosen();
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const next = event.key === "ArrowDown" ? open.nextElementSibling : open.previousElementSibling;
      choose(next || (event.key === "ArrowDown" ? offers.firstElementChild : offers.lastElementChild));
    } else if (open && event.key === "Tab" && !event.shiftKey) {
      event.preventDefault();
      take(open);
    } else if (open && event.key === "Escape") {
      event.preventDefault();
      hide();
    } else if (event.key === "Enter" && !event.shiftKey && !event.altKey && !event.isComposing) {
      event.preventDefault();
      if (open && word()?.kind === "file") take(open);
      else submit();
    } else if (event.key === "ArrowUp" && (at >= 0 || !text.value)) {
      event.preventDefault();
      recall(-1);
    } else if (event.key === "ArrowDown" && at >= 0) {
      event.preventDefault();
      recall(1);
    } else if (event.key === "Tab" && event.shiftKey && !text.value) {
      const modes = [...document.querySelectorAll("#dial-mode button")];
      const now = modes.findIndex((one) => one.classList.contains("now"));
      if (modes.length) { event.preventDefault(); send("say", { text: modes[(now + 1) % modes.length].value }).catch((error) => say(error.message)); }
    }
  });

  // ── buttons of a phone, pictures

  for (const one of document.querySelectorAll("[data-insert]")) {
    if (one.closest("#offers")) continue;
    one.addEventListener("click", () => { text.setRangeText(one.dataset.insert, text.selectionStart, text.selectionEnd, "end"); text.focus(); text.dispatchEvent(new Event("input")); });
  }
  const append = (more) => put(`${text.value}${text.value && !/\s$/.test(text.value) ? " " : ""}${more}`);
  // A file of the project goes by its name, another one as its text: a browser does not tell where it lies.
  async function addText(file) {
    const answer = await fetch(`offers?kind=file&q=${encodeURIComponent(file.name)}`).catch(() => null);
    const found = answer?.ok ? (await answer.json()).filter((row) => row.label.split("/").pop() === file.name) : [];
    if (found.length === 1) { append(found[0].insert); return; }
    if (file.size > 100_000) { say(`${file.name}: more than 100 KB; put it into the project and name it by @`); return; }
    const content = await file.text();
    if (content.includes("\0") || content.includes("\ufffd")) { say(`${file.name}: not text; only texts and pictures can be added here`); return; }
    append(`\n${file.name}:\n~~~\n${content.replace(/\n?$/, "\n")}~~~\n`);
  }
  async function add(files) {
    for (const file of files) {
      if (!file.type.startsWith("image/")) { await addText(file); continue; }
      const answer = await fetch("upload", { method: "POST", headers: { "Content-Type": file.type, Accept: "application/json" }, body: file });
      const told = await answer.json();
      if (answer.ok) append(`${told.path} `);
      else say(told.error);
    }
  }
  text.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files || [])];
    if (files.length) { event.preventDefault(); add(files); }
  });
  form.addEventListener("dragover", (event) => { event.preventDefault(); text.classList.add("drop"); });
  form.addEventListener("dragleave", () => text.classList.remove("drop"));
  form.addEventListener("drop", (event) => { event.preventDefault(); text.classList.remove("drop"); add([...event.dataTransfer.files]); });

  return {
    focus: () => text.focus(),
    change: (value, made) => { wrap = made; put(value); text.focus(); },
  };
}
