"use client";

import { useRef, useState } from "react";

/** The rows between two, both included, in the list's order: what Shift selects. */
export function rowsBetween(rows: readonly { id: string }[], fromId: string, toId: string): string[] {
  const ids = rows.map(({ id }) => id);
  const [from, to] = [ids.indexOf(fromId), ids.indexOf(toId)].sort((a, b) => a - b);
  return from === undefined || to === undefined || from < 0 ? [toId] : ids.slice(from, to + 1);
}

/** Which rows are ticked. `isMatching` means everything that the filter finds, loaded or not; only a preview knows how many. */
export function useSelection<Row extends { id: string }>(rows: readonly Row[]) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const [isMatching, setMatching] = useState(false);
  const anchor = useRef<string | null>(null);
  const clear = () => {
    setIds(new Set());
    setMatching(false);
  };
  const isAll = isMatching || (rows.length > 0 && rows.every(({ id }) => ids.has(id)));
  return {
    rows: rows.filter(({ id }) => ids.has(id)),
    has: (id: string) => isMatching || ids.has(id),
    isMatching,
    isAll,
    isSome: !isAll && rows.some(({ id }) => ids.has(id)),
    isEmpty: !isMatching && ids.size === 0,
    clear,
    chooseMatching: () => setMatching(true),
    /** Shift ticks every row from the last one pressed to this one. */
    toggle(id: string, withShift: boolean) {
      const between = withShift && anchor.current ? rowsBetween(rows, anchor.current, id) : [id];
      const next = new Set(isMatching ? rows.map((row) => row.id) : ids);
      const isTicked = !next.has(id);
      for (const each of between) isTicked ? next.add(each) : next.delete(each);
      anchor.current = id;
      setMatching(false);
      setIds(next);
    },
    toggleAll: () => (isAll ? clear() : setIds(new Set(rows.map(({ id }) => id)))),
  };
}
export type Selection<Row extends { id: string }> = ReturnType<typeof useSelection<Row>>;
