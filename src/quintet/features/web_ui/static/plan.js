// A plan that waits: its tasks are dragged into another order; the arrows of a row do the same by keyboard.
export function arrangePlan(place, send, say) {
  let dragged = null;
  let stood = []; // the rows as the server has them
  let focus = "";
  const rows = () => [...place.querySelectorAll(".planned > li")];
  place.addEventListener("pointerdown", (event) => {
    for (const row of rows()) row.draggable = !event.target.closest("input, button, summary");
  });
  place.addEventListener("dragstart", (event) => {
    dragged = event.target.closest(".planned > li");
    if (!dragged) return;
    stood = rows();
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.dataset.task);
    dragged.classList.add("dragged");
  });
  place.addEventListener("dragover", (event) => {
    const over = dragged && event.target.closest(".planned > li");
    if (!over) return;
    event.preventDefault();
    const box = over.getBoundingClientRect();
    if (over !== dragged) over[event.clientY < box.top + box.height / 2 ? "before" : "after"](dragged);
  });
  place.addEventListener("drop", (event) => { if (dragged) event.preventDefault(); });
  place.addEventListener("dragend", () => {
    if (!dragged) return;
    dragged.classList.remove("dragged");
    dragged = null;
    const wanted = rows().map((row) => row.dataset.task).join(" ");
    if (wanted === stood.map((row) => row.dataset.task).join(" ")) return;
    // Shown is what will run: an order that is refused never stays, and one that is taken comes with a new card.
    stood[0].parentElement.append(...stood);
    send("say", { text: `/arrange ${wanted}` }).catch((error) => say(error.message));
  });
  // The card is made anew after each step: the focus goes where the task went.
  place.addEventListener("click", (event) => {
    const found = event.target.closest("button")?.id.match(/^plan-(up|down|strike)-(\d+)$/);
    if (!found) return;
    const at = Number(found[2]) + { up: -1, down: 1, strike: 0 }[found[1]];
    focus = `plan-${found[1]}-${at}`;
  });
  return {
    placed() {
      const wanted = focus && (document.getElementById(focus) || place.querySelector(".planned button"));
      if (wanted?.disabled) [...wanted.parentElement.querySelectorAll("button:not(:disabled)")].at(0)?.focus();
      if (wanted) { wanted.focus(); focus = ""; }
    },
  };
}
