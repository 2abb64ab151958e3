// What a page looks like, as lines of text; one call per frame. Elements keep their numbers as long as they live;
// new ones are counted on from `next`, and written with the frame's `prefix`.
({ next, prefix: ours, mostLines, mostCharacters, mostMilliseconds }) => {
  const KEY = Symbol.for("quintet.page");
  if (!window[KEY])
    Object.defineProperty(window, KEY, {
      value: { numbers: new WeakMap(), elements: new Map(), document: `${performance.timeOrigin}-${Math.random()}` },
    });
  const state = window[KEY];
  document.documentElement.getBoundingClientRect(); // the layout is not our time
  const started = performance.now();
  const SKIPPED = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD", "META", "LINK", "TITLE", "OPTION"]);
  const ROLES = new Set(
    ("button link checkbox radio textbox searchbox combobox listbox option menuitem menuitemcheckbox menuitemradio " +
      "tab switch slider spinbutton treeitem gridcell").split(" "),
  );
  const OWN =
    "a[href],area[href],button,input,select,textarea,summary,[role=button],[role=link],[role=checkbox],[role=tab]," +
    "[role=menuitem],[role=switch],[contenteditable='']," +
    "[contenteditable=true],iframe,video,audio,canvas";
  const FIELDS = new Set("textbox,searchbox,combobox,listbox,checkbox,radio,slider,spinbutton,switch,file picker".split(","));
  const INLINE = /^(inline|contents|ruby)/;
  const INLINE_TAGS = new Set(
    "A ABBR B BUTTON CODE EM FONT I IMG INPUT KBD LABEL MARK Q S SELECT SMALL SPAN STRONG SUB SUP TEXTAREA TIME U".split(" "),
  );
  const LONG_TEXT = 600;
  const PIECE = 400;
  const MOST_OPTIONS = 50;
  const EVERYWHERE = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
  const page = document.scrollingElement || document.documentElement;

  const lines = [[], []]; // on screen, and below it
  const room = [mostLines, mostLines];
  const letters = [mostCharacters, mostCharacters];
  const more = [0, 0]; // lines that did not fit, the same
  let above = 0;
  let unfinished = false;
  let line = null;

  const squeezed = (text) => text.replace(/\s+/g, " ").trim();
  const cut = (text, most) => (text.length > most ? text.slice(0, most) + "…" : text);
  const quoted = (text, most = 100) => JSON.stringify(cut(squeezed(text), most));

  function numberOf(element) {
    let number = state.numbers.get(element);
    if (number === undefined) {
      number = next++;
      state.numbers.set(element, number);
      state.elements.set(number, new WeakRef(element));
    }
    return number;
  }

  // ── lines

  // Where a box stands: 0 on screen, 1 further on, -1 further back, 2 where no scrolling leads.
  function placed(box) {
    if (box.bottom <= 0) return box.bottom + scrollY <= 0 ? 2 : -1;
    if (box.top >= innerHeight) return 1;
    if (box.right <= 0) return box.right + scrollX <= 0 ? 2 : -1;
    if (box.left >= innerWidth) return box.left + scrollX >= page.scrollWidth ? 2 : 1;
    return 0;
  }

  function flush() {
    if (line && (line.parts.length || line.frame)) {
      const text = line.prefix + line.parts.join(" ").replace(/ ([,.;:!?)]+)(?= |$)/g, "$1");
      if (line.where < 0) above++;
      else if (room[line.where] <= 0 || letters[line.where] < text.length) {
        more[line.where]++;
        room[line.where] = 0; // nothing that comes later may overtake it
      } else {
        room[line.where]--;
        letters[line.where] -= text.length + 1;
        lines[line.where].push(line.frame ? { text, frame: line.frame } : { text });
      }
    }
    line = null;
  }

  function open(where, prefix = "") {
    if (!line) line = { parts: [], prefix, where, frame: 0 };
    else if (!line.parts.length) line.where = where;
    return line;
  }

  const full = (where) => where < 0 || room[where] <= 0;

  // ── names and states

  function textOf(element, most) {
    let text = "";
    const collect = (node) => {
      if (text.length > most) return;
      if (node.nodeType === 3) text += node.data;
      else if (node.nodeType !== 1 || SKIPPED.has(node.tagName) || node.hidden) return;
      else if (node.tagName === "IMG" && node.alt) text += ` ${node.alt} `;
      else {
        const apart = node !== element && (node.tagName === "BR" || !INLINE.test(getComputedStyle(node).display));
        if (apart) text += " ";
        for (const child of (node.shadowRoot || node).childNodes) collect(child);
        if (apart) text += " ";
      }
    };
    collect(element);
    return squeezed(text);
  }

  function labelledBy(element) {
    const ids = element.getAttribute("aria-labelledby");
    const root = element.getRootNode();
    return ids
      ? squeezed(ids.split(/\s+/).map((id) => root.getElementById?.(id)?.textContent || "").join(" "))
      : "";
  }

  function nameOf(element, role) {
    const tag = element.tagName;
    const spoken = labelledBy(element) || squeezed(element.getAttribute("aria-label") || "");
    if (spoken) return spoken;
    if (element.labels?.length) {
      const label = squeezed([...element.labels].map((one) => labelText(one)).join(" "));
      if (label) return label;
    }
    if (tag === "INPUT" && /^(button|submit|reset|image)$/.test(element.type))
      return element.value || element.alt || { submit: "Submit", reset: "Reset" }[element.type] || "";
    const held = ["INPUT", "SELECT", "TEXTAREA"].includes(tag) || element.isContentEditable || role === "textbox";
    const text = held ? "" : textOf(element, 300);
    if (text) return text;
    const title =
      element.getAttribute("placeholder") || element.getAttribute("title") || element.getAttribute("alt") ||
      element.querySelector?.("svg title")?.textContent || element.getAttribute("name") || "";
    return squeezed(title);
  }

  function labelText(label) {
    let text = "";
    const collect = (node) => {
      if (node.nodeType === 3) text += node.data;
      else if (node.nodeType === 1 && !SKIPPED.has(node.tagName) && !/^(SELECT|TEXTAREA|BUTTON)$/.test(node.tagName))
        node.childNodes.forEach(collect);
    };
    collect(label);
    return squeezed(text);
  }

  function roleOf(element) {
    const said = (element.getAttribute("role") || "").trim().split(/\s+/)[0];
    if (ROLES.has(said)) return said;
    switch (element.tagName) {
      case "A":
      case "AREA":
        return element.hasAttribute("href") ? "link" : "";
      case "BUTTON":
        return "button";
      case "SUMMARY":
        return "disclosure";
      case "SELECT":
        return element.multiple || element.size > 1 ? "listbox" : "combobox";
      case "TEXTAREA":
        return "textbox";
      case "VIDEO":
      case "AUDIO":
      case "CANVAS":
        return element.tagName.toLowerCase();
      case "INPUT":
        return (
          {
            hidden: "", button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox",
            radio: "radio", range: "slider", number: "spinbutton", file: "file picker", search: "searchbox",
          }[element.type] ?? "textbox"
        );
    }
    if (element.isContentEditable && !element.parentElement?.isContentEditable) return "textbox";
    if (element.hasAttribute("onclick") || (element.hasAttribute("tabindex") && element.tabIndex >= 0 && said))
      return said || "clickable";
    return "";
  }

  function statesOf(element, role) {
    const states = [];
    const tag = element.tagName;
    const aria = (name) => element.getAttribute(`aria-${name}`);
    if (tag === "INPUT" && !["textbox", "button", "checkbox", "radio"].includes(role) && role !== element.type)
      states.push(element.type === "file" || role === "searchbox" || role === "spinbutton" ? "" : `(${element.type})`);
    else if (tag === "INPUT" && role === "textbox" && element.type !== "text") states.push(`(${element.type})`);
    if (tag === "INPUT" && element.type === "file")
      states.push(element.files.length ? `holds ${[...element.files].map((f) => quoted(f.name)).join(", ")}` : "empty");
    else if (tag === "INPUT" && element.type === "password") states.push(element.value ? "filled" : "empty");
    else if (tag === "SELECT") states.push(chosen(element));
    else if ((tag === "INPUT" && !/^(checkbox|radio|button|submit|reset|image)$/.test(element.type)) || tag === "TEXTAREA")
      states.push(element.value ? `= ${quoted(element.value, 200)}` : "empty");
    else if (role === "textbox" || (element.isContentEditable && role)) states.push(`= ${quoted(element.innerText, 200)}`);
    const checked = element.indeterminate ? "mixed" : (element.checked ?? aria("checked") === "true");
    if (/checkbox|radio|switch/.test(role)) states.push(checked === "mixed" ? "mixed" : checked ? "checked" : "unchecked");
    if (element.disabled || aria("disabled") === "true" || element.matches(":disabled")) states.push("disabled");
    if (aria("expanded")) states.push(aria("expanded") === "true" ? "expanded" : "collapsed");
    else if (tag === "SUMMARY" && element.parentElement) states.push(element.parentElement.open ? "expanded" : "collapsed");
    if (aria("selected") === "true" || aria("current") === "page") states.push("selected");
    if (aria("pressed") === "true") states.push("pressed");
    if (element.required || aria("required") === "true") states.push("required");
    if (element.readOnly) states.push("read-only");
    if (aria("invalid") === "true" || safely(() => element.matches(":user-invalid"))) states.push("invalid");
    if (element.getRootNode().activeElement === element) states.push("focused");
    if (role === "link") states.push(`→ ${shortened(element)}`);
    if (role === "canvas") states.push(`${element.width}×${element.height}`);
    return states.filter(Boolean);
  }

  function safely(look) {
    try {
      return look();
    } catch {
      return false;
    }
  }

  function chosen(select) {
    const shown = [...select.options].slice(0, MOST_OPTIONS).map((option, index) => {
      const marks = (option.selected ? " selected" : "") + (option.disabled ? " disabled" : "");
      return `${index} ${quoted(option.label || option.text, 40)}${marks}`;
    });
    const rest = select.options.length - shown.length;
    const late = [...select.selectedOptions].filter((option) => option.index >= MOST_OPTIONS);
    const others = late.map((option) => `${option.index} ${quoted(option.label, 40)} selected`);
    return `options: ${[...shown, ...(rest > 0 ? [`… ${rest} more`] : []), ...others].join(", ") || "none"}`;
  }

  function shortened(link) {
    const raw = link.href?.baseVal ?? link.href ?? "";
    const bare = raw.startsWith(`${location.origin}/`) ? raw.slice(location.origin.length) : raw;
    return cut(bare, 120);
  }

  // ── the walk

  function walk(node, clip, inside) {
    if (unfinished) return;
    if (node.nodeType === 3) return text(node, clip, inside);
    if (node.nodeType !== 1 || SKIPPED.has(node.tagName)) return;
    if (performance.now() - started > mostMilliseconds) {
      unfinished = true;
      return;
    }
    const tag = node.tagName;
    const rough = node.getBoundingClientRect();
    if (!inside.scroller && !INLINE_TAGS.has(tag) && outOfSight(rough)) {
      flush();
      if (rough.bottom <= 0) above += linesIn(node);
      else more[1] += linesIn(node);
      return;
    }
    const style = getComputedStyle(node);
    if (style.display === "none") return;
    const box = style.display === "contents" ? null : rough;
    const hidden = style.visibility !== "visible";
    const faint = style.opacity === "0" && tag !== "INPUT";
    if (faint) return;
    const inline = INLINE.test(style.display) && tag !== "BR";
    const cell = style.display === "table-cell";
    if (!inline && !cell) flush();

    let clipped = style.position === "fixed" ? EVERYWHERE : clip;
    let scroller = inside.scroller;
    const overflow = style.overflowX !== "visible" || style.overflowY !== "visible";
    if (box && overflow && node !== document.documentElement && node !== document.body && tag !== "TEXTAREA") {
      clipped = {
        left: Math.max(clipped.left, box.left), right: Math.min(clipped.right, box.right),
        top: Math.max(clipped.top, box.top), bottom: Math.min(clipped.bottom, box.bottom),
      };
      const scrolls = /auto|scroll/.test(style.overflowY + style.overflowX);
      if (scrolls && (node.scrollHeight > node.clientHeight + 4 || node.scrollWidth > node.clientWidth + 4))
        scroller = { element: node, hidden: 0, box };
    }

    let where = box ? placed(box) : 0;
    const seen = box && box.width > 0 && box.height > 0 && !hidden;
    const shown = seen && where !== 2 && within(box, clip);
    if (seen && where !== 2 && !shown && inside.scroller && roleOf(node)) inside.scroller.hidden++;
    const prefix = prefixOf(node, tag, style);
    if (prefix && shown) open(where, prefix);
    if (cell && shown && line?.parts.length) line.parts.push("|");

    let below = style.display === "table-row" ? { ...inside, row: true } : inside;
    if (scroller !== inside.scroller) below = { ...below, scroller };
    let entered = true;
    if (shown && !full(where)) entered = put(node, tag, style, where, inside, (changed) => (below = { ...below, ...changed }));
    else if (shown && (roleOf(node) || tag === "IFRAME")) {
      open(where).parts.push("…"); // counted, not shown
      entered = tag !== "IFRAME" && !!node.querySelector(OWN);
    }
    if (entered) children(node, clipped, below);
    if (!inline && !cell) flush();
    if (scroller && scroller !== inside.scroller && scroller.hidden && seen && where >= 0) {
      open(where).parts.push(
        `(${scroller.hidden} more inside [${ours + numberOf(node)} scrollable]: browser_scroll it by its element_id)`,
      );
      flush();
    }
  }

  // Whether nothing of a box will be shown, so that its lines need only be counted.
  function outOfSight(box) {
    if (!box.width || !box.height) return false;
    return (box.bottom <= 0 && box.bottom + scrollY > 0) || (box.top >= innerHeight && full(1));
  }

  // How many lines a part of the page would be, about: its blocks with words or elements of their own.
  function linesIn(node) {
    let count = 0;
    let last = null;
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let at = node; at; at = walker.nextNode()) {
      const worth = at.nodeType === 3 ? /\S/.test(at.data) : /^(INPUT|SELECT|TEXTAREA|IFRAME|CANVAS|VIDEO)$/.test(at.tagName);
      if (!worth || (at.nodeType === 3 && SKIPPED.has(at.parentElement?.tagName))) continue;
      let block = at.nodeType === 3 ? at.parentElement : at;
      while (block && block !== node && INLINE_TAGS.has(block.tagName)) block = block.parentElement;
      if (block !== last) count += at.nodeType === 3 ? Math.max(1, Math.ceil(at.data.length / PIECE)) : 1;
      last = block;
    }
    return count;
  }

  function children(node, clip, inside) {
    const root = node.shadowRoot;
    if (root) for (const child of root.childNodes) walk(child, clip, inside);
    else if (node.tagName === "SLOT" && node.assignedNodes().length)
      for (const child of node.assignedNodes({ flatten: true })) walk(child, clip, inside);
    else if (node.tagName === "DETAILS" && !node.open) {
      const summary = node.querySelector(":scope > summary");
      if (summary) walk(summary, clip, inside);
    } else for (const child of node.childNodes) walk(child, clip, inside);
  }

  // Whether some of a box is in what its scrolling or clipping ancestors show.
  function within(box, clip) {
    return (
      box.bottom > clip.top + 1 && box.top < clip.bottom - 1 && box.right > clip.left && box.left < clip.right
    );
  }

  function prefixOf(node, tag, style) {
    if (/^H[1-6]$/.test(tag)) return "#".repeat(+tag[1]) + " ";
    if (node.getAttribute("role") === "heading") return "#".repeat(+(node.getAttribute("aria-level") || 2)) + " ";
    if (tag === "LI" && style.display === "list-item") return "- ";
    return style.display === "table-row" ? "| " : "";
  }

  // Puts an element itself into the line; returns whether its children are to be looked at too.
  function put(node, tag, style, where, inside, change) {
    if (tag === "IFRAME" || tag === "FRAME") {
      flush();
      const one = open(where);
      one.frame = numberOf(node);
      one.parts.push(nameOf(node, "") ? quoted(nameOf(node, "")) : "");
      flush();
      return false;
    }
    if (tag === "IMG" || (tag === "svg" && node.getAttribute("role") === "img")) {
      if (inside.named) return false;
      const name = node.getAttribute("alt") || labelledBy(node) || node.getAttribute("aria-label") || "";
      if (name) open(where).parts.push(`(image ${quoted(name)})`);
      else if (tag === "IMG" && node.width >= 100 && node.height >= 100)
        open(where).parts.push(`(image ${quoted((node.currentSrc || node.src).split("/").pop().split("?")[0], 60)})`);
      return false;
    }
    if (tag === "svg") return false;
    if (tag === "LABEL") {
      const control = node.control;
      const box = control?.getBoundingClientRect();
      if (control && box.width > 1 && box.height > 1 && getComputedStyle(control).opacity !== "0") {
        change({ named: true }); // its words are the control's name
        return true;
      }
    }
    let role = roleOf(node);
    const pointer = style.cursor === "pointer" && !inside.pointer;
    if (pointer) change({ pointer: true });
    if (!role && pointer && !inside.named) role = "clickable";
    if (!role) return true;
    const nested = node.querySelector(OWN) || node.shadowRoot;
    const name = role === "clickable" && nested ? "" : nameOf(node, role);
    const mark = name ? quoted(name, 150) : hint(node);
    const words = [ours + numberOf(node), role, mark, ...statesOf(node, role)].filter((word) => word !== "");
    const field = FIELDS.has(role) && !inside.row; // has a line of its own
    if (field) flush();
    open(where).parts.push(`[${words.join(" ")}]`);
    if (field) flush();
    if (role === "clickable" && nested) return true;
    if (role === "link" || role === "button" || role === "clickable") {
      if (nested) change({ named: true });
      return !!nested;
    }
    return ROLES.has(role) && !["INPUT", "SELECT", "TEXTAREA"].includes(tag) && !node.isContentEditable && !!nested;
  }

  function hint(node) {
    if (node.id) return `#${cut(node.id, 40)}`;
    const first = typeof node.className === "string" ? node.className.trim().split(/\s+/)[0] : "";
    return first ? `.${cut(first, 40)}` : "";
  }

  function text(node, clip, inside) {
    if (inside.named || !node.data.trim()) return;
    const parent = node.parentElement || node.getRootNode().host;
    if (!parent || getComputedStyle(parent).visibility !== "visible") return;
    if (node.data.length > LONG_TEXT) return pieces(node, clip, inside);
    let box = parent.getBoundingClientRect();
    if (box.height > innerHeight || !box.height) box = measured(node, 0, node.data.length);
    const where = placed(box);
    if (where === 2 || !box.width) return;
    if (!within(box, clip)) {
      if (inside.scroller) inside.scroller.hidden++;
      return;
    }
    open(where).parts.push(full(where) ? "…" : squeezed(node.data));
  }

  function measured(node, from, to) {
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    return range.getBoundingClientRect();
  }

  // A long text comes in pieces, each with a place of its own.
  function pieces(node, clip, inside) {
    const data = node.data;
    for (let from = 0; from < data.length && !unfinished; ) {
      let to = Math.min(from + PIECE, data.length);
      const stop = to < data.length ? Math.max(data.lastIndexOf("\n", to), data.lastIndexOf(" ", to)) : to;
      if (stop > from) to = stop;
      const box = measured(node, from, to);
      const where = placed(box);
      if (box.width && where !== 2 && !within(box, clip)) {
        if (inside.scroller) inside.scroller.hidden++;
      } else if (box.width && where !== 2) {
        flush();
        const said = squeezed(data.slice(from, to));
        if (said) open(where).parts.push(full(where) ? "…" : said);
        flush();
      }
      from = Math.max(to, from + 1);
      if (performance.now() - started > mostMilliseconds) unfinished = true;
    }
  }

  if (document.body) walk(document.documentElement, EVERYWHERE, { scroller: null, named: false, pointer: false, row: false });
  flush();
  return {
    document: state.document,
    title: document.title,
    seen: lines[0],
    later: lines[1],
    above,
    unseen: more[0],
    below: more[1],
    unfinished,
    next,
    width: innerWidth,
    height: innerHeight,
    top: Math.round(page?.scrollTop || 0),
    whole: page?.scrollHeight || innerHeight,
  };
}
