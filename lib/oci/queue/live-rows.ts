import type { QueueRow } from "./rows.ts";

/** How a list that somebody is reading takes news: rows change where they stand, new ones wait to be asked for. */

/** The rows with what changed, each in its place. */
export function patchRows(rows: QueueRow[], changed: readonly QueueRow[]): QueueRow[] {
  const news = new Map(changed.map((row) => [row.id, row]));
  if (!rows.some((row) => news.has(row.id))) return rows;
  return rows.map((row) => news.get(row.id) ?? row);
}

/** Of a fresh first page the rows that stand above everything shown. */
export function rowsAbove(rows: readonly QueueRow[], firstPage: readonly QueueRow[]): QueueRow[] {
  const shown = new Set(rows.map((row) => row.id));
  const firstShown = firstPage.findIndex((row) => shown.has(row.id));
  return firstPage.slice(0, firstShown < 0 ? firstPage.length : firstShown).filter((row) => !shown.has(row.id));
}

/** A fresh beginning of the list before the part of it that was loaded earlier and lies further down. */
export function replaceStart(rows: readonly QueueRow[], start: readonly QueueRow[], readCount: number): QueueRow[] {
  const fresh = new Set(start.map((row) => row.id));
  return [...start, ...rows.slice(readCount).filter((row) => !fresh.has(row.id))];
}

/** The rows between two, both included, in the list's order: what Shift selects. */
export function rowsBetween(rows: readonly QueueRow[], fromId: string, toId: string): string[] {
  const ids = rows.map((row) => row.id);
  const [from, to] = [ids.indexOf(fromId), ids.indexOf(toId)].sort((a, b) => a - b);
  return from === undefined || to === undefined || from < 0 ? [toId] : ids.slice(from, to + 1);
}
