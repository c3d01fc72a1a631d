/** Rows carry `data-row` with their id, and one link `data-row-link` that opens them. */
const links = () => [...document.querySelectorAll<HTMLElement>("[data-row] [data-row-link]")];
const rowOf = (element: Element | null) => element?.closest("[data-row]")?.getAttribute("data-row") ?? null;

/** The row that the keyboard stands on. */
export const focusedRow = () => rowOf(document.activeElement);

/** Moves the keyboard to the next or previous row and gives its id. `from` is where to start when it stands on none. */
export function stepFocus(step: 1 | -1, from: string | null): string | null {
  const all = links();
  const start = focusedRow() ?? from;
  const place = all.findIndex((link) => rowOf(link) === start);
  const next = all[place < 0 ? 0 : Math.min(all.length - 1, Math.max(0, place + step))];
  next?.focus();
  return rowOf(next ?? null);
}

export function focusRow(id: string): void {
  links()
    .find((link) => rowOf(link) === id)
    ?.focus();
}
