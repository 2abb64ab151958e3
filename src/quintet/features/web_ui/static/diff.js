// A change side by side: what was on the left, what is on the right, each pair in a row; and back again.
const whole = new WeakMap();

function cell(row, at) {
  return row ? row.cells[at].cloneNode(true) : Object.assign(document.createElement("td"), { className: "empty" });
}

function paired(gone, came) {
  const rows = [];
  for (let at = 0; at < Math.max(gone.length, came.length); at += 1) {
    const row = document.createElement("tr");
    const [left, right] = [gone[at], came[at]];
    row.append(cell(left, 0), cell(left, 2), cell(right, 0), cell(right, 2));
    if (left) row.cells[1].classList.add("del");
    if (right) row.cells[3].classList.add("add");
    rows.push(row);
  }
  return rows;
}

export function sideBySide(button) {
  const table = button.parentElement.querySelector(".diff");
  if (whole.has(table)) {
    table.replaceChildren(whole.get(table));
    whole.delete(table);
    table.classList.remove("two");
    button.textContent = "Side by side";
    return;
  }
  const body = document.createElement("tbody");
  let gone = [];
  let came = [];
  const flush = () => { body.append(...paired(gone, came)); gone = []; came = []; };
  for (const row of table.rows) {
    if (row.className === "del") { if (came.length) flush(); gone.push(row); continue; }
    if (row.className === "add") { came.push(row); continue; }
    flush();
    if (row.className === "same") {
      const both = document.createElement("tr");
      both.append(cell(row, 0), cell(row, 2), cell(row, 0), cell(row, 2));
      body.append(both);
    } else {
      const other = row.cloneNode(true);
      other.cells[0].colSpan = 4;
      body.append(other);
    }
  }
  flush();
  whole.set(table, table.tBodies[0]);
  table.replaceChildren(body);
  table.classList.add("two");
  button.textContent = "In one";
}
