"use client";

import { useEffect, useEffectEvent, useState } from "react";

interface Options<Value> {
  /** Which one is open; null when none is. */
  id: string | null;
  /** What the server drew with the page, and of which one it is. */
  given: { id: string; value: Value } | null;
  /** Another version is read again; the old one stays until the new one is here. */
  version: string;
  read: (id: string) => Promise<Value | null>;
}

/** The details of the open row: the server's, or read by id when the reader opened it since. */
export function useDetail<Value>({ id, given, version, read }: Options<Value>) {
  const [held, setHeld] = useState(given);
  const [failedId, setFailedId] = useState<string | null>(null);
  const [seen, setSeen] = useState(given);
  if (seen !== given) {
    setSeen(given);
    if (given) setHeld(given);
  }
  const readAgain = useEffectEvent(async (isCurrent: () => boolean) => {
    if (!id || given?.id === id) return;
    const value = await read(id);
    if (!isCurrent()) return;
    setFailedId(value === null ? id : null);
    if (value) setHeld({ id, value });
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another row or version is the event
  useEffect(() => {
    let isCurrent = true;
    void readAgain(() => isCurrent);
    return () => {
      isCurrent = false;
    };
  }, [id, version]);
  const known = [held, given].find((each) => each?.id === id);
  return { value: known?.value ?? null, isFailed: id !== null && failedId === id };
}
