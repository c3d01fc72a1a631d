"use client";

import { useEffect, useEffectEvent, useState } from "react";

/** Walking through the list with a held key does not ask for each row on the way. */
const settleMs = 120;

interface Options<Value> {
  /** Which one is open; null when none is. */
  id: string | null;
  /** What the server drew with the page, and of which one it is. */
  given: { id: string; value: Value } | null;
  /** Another version is read again; the old one stays until the new one is here. */
  version: string;
  read: (id: string) => Promise<Value | null>;
  /** True for details that were read before those that are shown. */
  isOlder?: (value: Value, shown: Value) => boolean;
}

/** The details of the open row: the server's, or read by id when the reader opened it since. Those of rows seen before are kept. */
export function useDetail<Value>({ id, given, version, read, isOlder }: Options<Value>) {
  const [held, setHeld] = useState<Readonly<Record<string, Value>>>(given ? { [given.id]: given.value } : {});
  const [failedId, setFailedId] = useState<string | null>(null);
  const [seen, setSeen] = useState(given);
  const take = (of: string, value: Value) =>
    setHeld((now) => {
      const shown = now[of];
      return shown !== undefined && isOlder?.(value, shown) ? now : { ...now, [of]: value };
    });
  if (seen !== given) {
    setSeen(given);
    if (given) take(given.id, given.value);
  }
  const readAgain = useEffectEvent(async (isCurrent: () => boolean) => {
    if (!id || given?.id === id) return;
    const value = await read(id);
    if (!isCurrent()) return;
    setFailedId(value === null ? id : null);
    if (value) take(id, value);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another row or version is the event
  useEffect(() => {
    let isCurrent = true;
    const timer = setTimeout(() => void readAgain(() => isCurrent), settleMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [id, version]);
  return {
    value: (id && held[id]) || null,
    isFailed: id !== null && failedId === id,
    /** Details that were read in another way, such as the answer to a change. */
    take,
  };
}
