import type { DeskFilter } from "./desk-filter.ts";

/** The filter as the browser knows it; the server reads it from the address with `deskFilter`. */
export type FilterText = Partial<Record<keyof DeskFilter, string | number | undefined>>;

/** The filter as a query, in one order, so that the same filter is the same address. */
export function filterQuery(filter: FilterText, more: Record<string, string | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filter, ...more }))
    if (value !== undefined && !(name === "view" && value === "all")) query.set(name, String(value));
  query.sort();
  return query.size > 0 ? `?${query}` : "";
}

/** How many conditions beside the view narrow the list. */
export function conditionCount({ view: _view, from, to, ...conditions }: FilterText): number {
  return Object.values(conditions).filter((value) => value !== undefined).length + (from || to ? 1 : 0);
}
