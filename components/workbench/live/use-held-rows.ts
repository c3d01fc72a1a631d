"use client";

import { useEffect, useEffectEvent, useState } from "react";
import { appendPage, type HeldRows, type ListPage, patchRows, startRows, takePage } from "./held-rows.ts";

const lookMs = 1000;

interface Options<Row> {
  /** What the list is of: its filter and order. Another one starts afresh. */
  of: string;
  /** Somebody uses the list: see isListTouched. */
  isTouched: () => boolean;
  isOlder?: (row: Row, shown: Row) => boolean;
  /** Reads shown rows that the server's page does not contain: they left the filter, or lie further down. Without it, rows that left the filter disappear. */
  readOthers?: (ids: string[]) => Promise<readonly Row[] | null>;
}

/**
 * Shows the server's newest page. While somebody uses the list, known rows change in place, new ones wait, and nothing moves;
 * a second after that, the list is as the server drew it.
 */
export function useHeldRows<Row extends { id: string }>(page: ListPage<Row>, { of, isTouched, isOlder, readOthers }: Options<Row>) {
  const [held, setHeld] = useState<HeldRows<Row>>(() => startRows(page));
  const [seen, setSeen] = useState({ page, of });
  const [isMoved, setMoved] = useState(false);
  if (seen.page !== page) {
    const touched = seen.of === of && isTouched();
    setSeen({ page, of });
    setMoved(touched);
    setHeld(seen.of === of ? takePage(held, page, { isTouched: touched, keepsGone: readOthers !== undefined, isOlder }) : startRows(page));
  }
  const showNewest = () => {
    setMoved(false);
    setHeld((now) => takePage(now, page, { isTouched: false, isOlder }));
  };
  const look = useEffectEvent(() => !isTouched() && showNewest());
  useEffect(() => {
    if (!isMoved) return;
    const timer = setInterval(look, lookMs);
    return () => clearInterval(timer);
  }, [isMoved]);

  const patch = (rows: readonly Row[]) =>
    setHeld((now) => ({ ...now, rows: patchRows(now.rows, rows, isOlder), waiting: patchRows(now.waiting, rows, isOlder) }));
  const readRest = useEffectEvent(async (isCurrent: () => boolean) => {
    const read = new Set(page.rows.map(({ id }) => id));
    const others = held.rows.filter(({ id }) => !read.has(id)).map(({ id }) => id);
    const rows = others.length > 0 ? await readOthers?.(others) : null;
    if (rows && isCurrent()) patch(rows);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page is the event
  useEffect(() => {
    let isCurrent = true;
    void readRest(() => isCurrent);
    return () => {
      isCurrent = false;
    };
  }, [page]);

  return {
    ...held,
    showNewest,
    /** Rows that were read in another way, such as the answer to a change. */
    patch,
    append: (below: ListPage<Row>) => setHeld((now) => appendPage(now, below)),
  };
}
