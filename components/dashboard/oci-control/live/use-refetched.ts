"use client";

import { useEffect, useRef, useState } from "react";

/** A value that is read again whenever `version` changes; the old one stays until the new one is here. `key` says what it is of. */
export function useRefetched<Value>(
  start: { key: string; value: Value | null },
  wanted: { key: string; version: string },
  read: () => Promise<Value | null>,
) {
  const [held, setHeld] = useState(start);
  const [failed, setFailed] = useState(false);
  const done = useRef(start.value ? `${start.key} ${wanted.version}` : "");
  const asked = `${wanted.key} ${wanted.version}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is asked for is the event
  useEffect(() => {
    if (done.current === asked || !wanted.key) return;
    done.current = asked;
    let current = true;
    read().then((value) => {
      if (!current) return;
      setFailed(value === null);
      if (value) setHeld({ key: wanted.key, value });
    });
    return () => {
      current = false;
    };
  }, [asked]);
  return { value: held.key === wanted.key ? held.value : null, failed };
}
