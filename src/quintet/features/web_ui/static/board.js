// A task is dragged to a column that it may go to; its menu does the same by keyboard.
export function moveTasks() {
  const board = document.querySelector(".board");
  let dragged = null;
  const column = (event) => {
    const found = event.target.closest("[data-status]");
    return found && dragged?.dataset.moves.split(" ").includes(found.dataset.status) ? found : null;
  };
  const clear = () => { for (const one of board.querySelectorAll(".into, .may")) one.classList.remove("into", "may"); };
  board.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("[data-moves]");
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.dataset.task);
    for (const one of board.querySelectorAll("[data-status]")) if (dragged.dataset.moves.split(" ").includes(one.dataset.status)) one.classList.add("may");
  });
  board.addEventListener("dragover", (event) => {
    const found = column(event);
    for (const one of board.querySelectorAll(".into")) if (one !== found) one.classList.remove("into");
    if (found) { event.preventDefault(); found.classList.add("into"); }
  });
  board.addEventListener("dragend", () => { dragged = null; clear(); });
  board.addEventListener("drop", (event) => {
    const found = column(event);
    if (!found) return;
    event.preventDefault();
    const form = dragged.querySelector(".move form");
    const choice = [...form.elements].find((one) => one.value === found.dataset.status);
    if (choice) form.requestSubmit(choice);
  });
}
