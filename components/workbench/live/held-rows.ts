/** How a list takes what the server draws next: as it is, or, while somebody uses it, without moving anything. */

export interface ListPage<Row> {
  rows: readonly Row[];
  /** The cursor of the page below; null at the end. */
  next: string | null;
}

export interface HeldRows<Row> extends ListPage<Row> {
  /** New rows that wait until nobody uses the list. */
  waiting: readonly Row[];
  /** The reader asked for more than the server's page: rows below it stay. */
  isEnlarged: boolean;
  /** What came while the page was open. */
  freshIds: ReadonlySet<string>;
}

interface Taking<Row> {
  isTouched: boolean;
  /** Rows that left the server's list stay while somebody uses it; their changes are read by id. */
  keepsGone?: boolean;
  /** True for a row that was read before the one that is shown. */
  isOlder?: ((row: Row, shown: Row) => boolean) | undefined;
}

interface Named {
  id: string;
}

export const startRows = <Row extends Named>({ rows, next }: ListPage<Row>): HeldRows<Row> => ({
  rows,
  next,
  waiting: [],
  isEnlarged: false,
  freshIds: new Set(),
});

/** The rows with their changes, each in its place. The same list when nothing did. */
export function patchRows<Row extends Named>(rows: readonly Row[], changed: readonly Row[], isOlder?: Taking<Row>["isOlder"]) {
  const news = new Map(changed.map((row) => [row.id, row]));
  if (!rows.some(({ id }) => news.has(id))) return rows;
  return rows.map((shown) => {
    const row = news.get(shown.id);
    return row && !isOlder?.(row, shown) ? row : shown;
  });
}

/** New rows of a page: all above the last row that is known. What stands below it is new only where the list had ended. */
function newRows<Row extends Named>({ rows, next }: ListPage<Row>, page: ListPage<Row>): Row[] {
  const known = new Set(rows.map(({ id }) => id));
  const lastKnown = page.rows.findLastIndex(({ id }) => known.has(id));
  return page.rows.filter(({ id }, place) => !known.has(id) && (place < lastKnown || lastKnown < 0 || next === null));
}

/** The server's page, followed by what the reader had loaded below it. */
function replaceStart<Row extends Named>(held: HeldRows<Row>, page: ListPage<Row>): Pick<HeldRows<Row>, "rows" | "next" | "isEnlarged"> {
  const fresh = new Set(page.rows.map(({ id }) => id));
  const last = held.rows.findLastIndex(({ id }) => fresh.has(id));
  // Nothing in common: rows between the two lists were never read.
  if (!held.isEnlarged || page.next === null || last < 0) return { rows: page.rows, next: page.next, isEnlarged: false };
  const below = held.rows.slice(last + 1).filter(({ id }) => !fresh.has(id));
  return { rows: [...page.rows, ...below], next: held.next, isEnlarged: true };
}

/** Without the rows that left the server's list: not on its page, though one below them is, or the page is the last. */
function withoutGone<Row extends Named>(rows: readonly Row[], page: ListPage<Row>): readonly Row[] {
  const there = new Set(page.rows.map(({ id }) => id));
  const last = page.next === null ? rows.length : rows.findLastIndex(({ id }) => there.has(id));
  return rows.filter(({ id }, place) => place > last || there.has(id));
}

export function takePage<Row extends Named>(
  held: HeldRows<Row>,
  page: ListPage<Row>,
  { isTouched, keepsGone = false, isOlder }: Taking<Row>,
): HeldRows<Row> {
  const news = newRows(held, page);
  if (isTouched) {
    const rows = patchRows(held.rows, page.rows, isOlder);
    return { ...held, rows: keepsGone ? rows : withoutGone(rows, page), waiting: news };
  }
  const shown = new Map(held.rows.map((row) => [row.id, row]));
  const rows = page.rows.map((row) => {
    const before = shown.get(row.id);
    return before && isOlder?.(row, before) ? before : row;
  });
  const freshIds = news.length > 0 ? new Set([...held.freshIds, ...news.map(({ id }) => id)]) : held.freshIds;
  return { ...replaceStart(held, { ...page, rows }), waiting: [], freshIds };
}

export function appendPage<Row extends Named>(held: HeldRows<Row>, page: ListPage<Row>): HeldRows<Row> {
  const known = new Set(held.rows.map(({ id }) => id));
  return { ...held, rows: [...held.rows, ...page.rows.filter(({ id }) => !known.has(id))], next: page.next, isEnlarged: true };
}
