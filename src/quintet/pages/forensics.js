"use strict";
// Everything can be read without this; it only hides what is not looked for.
(() => {
  const bar = document.querySelector(".tools");
  const turns = [...document.querySelectorAll(".turn")];
  const rows = turns.map((turn) => [...turn.querySelectorAll(".e")]);
  const opened = turns.map((turn) => turn.open);
  const words = bar.querySelector("input[type=search]");
  const kinds = [...bar.querySelectorAll("input[data-kind]")];
  const trouble = bar.querySelector("input[data-trouble]");
  const found = bar.querySelector("output");
  bar.hidden = false;

  const filter = () => {
    const wanted = words.value.trim().toLowerCase();
    const shown = new Set(kinds.filter((box) => box.checked).map((box) => box.dataset.kind));
    const narrowed = wanted !== "" || trouble.checked;
    let count = 0;
    turns.forEach((turn, place) => {
      const named = wanted !== "" && turn.firstElementChild.textContent.toLowerCase().includes(wanted);
      let here = 0;
      for (const row of rows[place]) {
        const fits = shown.has(row.classList[1]) && (!trouble.checked || row.classList.contains("x")) &&
          (wanted === "" || named || row.textContent.toLowerCase().includes(wanted));
        row.hidden = !fits;
        here += fits;
      }
      count += here;
      turn.hidden = narrowed && here === 0;
      turn.open = narrowed ? here > 0 && here < 400 : opened[place];
    });
    found.textContent = narrowed || shown.size < kinds.length ? `${count} of ${rows.flat().length} shown` : "";
  };
  let timer = 0;
  words.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 120); });
  for (const box of [...kinds, trouble]) box.addEventListener("change", filter);
  const all = (open) => () => turns.forEach((turn, place) => { turn.open = opened[place] = open; });
  bar.querySelector("[data-open]").addEventListener("click", all(true));
  bar.querySelector("[data-close]").addEventListener("click", all(false));
  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    for (let fold = target; fold; fold = fold.parentElement.closest("details")) fold.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
