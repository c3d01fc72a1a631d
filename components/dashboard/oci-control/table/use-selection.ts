"use client";

import { useRef, useState } from "react";
import { rowsBetween } from "#lib/oci/queue/live-rows.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";

/** Which rows are ticked. `matching` means everything that the filter finds, loaded or not; only a preview knows how many. */
export function useSelection(rows: QueueRow[]) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const [matching, setMatching] = useState(false);
  const anchor = useRef<string | null>(null);
  const clear = () => {
    setIds(new Set());
    setMatching(false);
  };
  return {
    rows: rows.filter((row) => ids.has(row.id)),
    has: (id: string) => matching || ids.has(id),
    matching,
    clear,
    chooseMatching: () => setMatching(true),
    /** Shift carries the tick from the last one pressed to this one. */
    toggle(id: string, withShift: boolean) {
      const between = withShift && anchor.current ? rowsBetween(rows, anchor.current, id) : [id];
      const next = new Set(matching ? rows.map((row) => row.id) : ids);
      const tick = !next.has(id);
      for (const each of between) tick ? next.add(each) : next.delete(each);
      anchor.current = id;
      setMatching(false);
      setIds(next);
    },
    toggleAll() {
      if (matching || (rows.length > 0 && rows.every((row) => ids.has(row.id)))) clear();
      else setIds(new Set(rows.map((row) => row.id)));
    },
  };
}
export type Selection = ReturnType<typeof useSelection>;
