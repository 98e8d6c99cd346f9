// The lines of a drawing of tables: each joins two rows of boxes that the browser has laid out.

const BULGE = 26; // of a line between boxes one below the other, which runs beside them

/** Return the path of each join in the coordinates of `frame`; a join whose rows are not shown has none. */
export function traceJoins(joins, frame) {
  const origin = frame.getBoundingClientRect();
  const rows = new Map([...frame.querySelectorAll("[data-column]")].map((row) => [row.dataset.column, row]));
  return joins.flatMap((join, index) => {
    const [from, to] = [[join.table, join.column], [join.referenced_table, join.referenced_column]].map((end) => rows.get(buildColumnKey(...end)));
    return from && to ? [{ index, join, d: tracePath(measure(from, origin), measure(to, origin)) }] : [];
  });
}

/** Return the key of a column among the rows of a drawing, whatever characters the names have. */
export const buildColumnKey = (table, column) => JSON.stringify([table, column]);

/** Return where a row is: its middle, and the sides of the box that it stands in. */
function measure(row, origin) {
  const [own, box] = [row.getBoundingClientRect(), row.closest("[data-box]").getBoundingClientRect()];
  return { y: own.top + own.height / 2 - origin.top, left: box.left - origin.left, right: box.right - origin.left };
}

function tracePath(from, to) {
  if (from.right < to.left) return curve(from.right, from.y, to.left, to.y);
  if (to.right < from.left) return curve(from.left, from.y, to.right, to.y);
  const side = Math.max(from.right, to.right) + BULGE;
  return `M ${from.right} ${from.y} C ${side} ${from.y}, ${side} ${to.y}, ${to.right} ${to.y}`;
}

function curve(x1, y1, x2, y2) {
  const middle = (x1 + x2) / 2;
  return `M ${x1} ${y1} C ${middle} ${y1}, ${middle} ${y2}, ${x2} ${y2}`;
}
