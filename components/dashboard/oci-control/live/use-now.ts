"use client";

import { useEffect, useState } from "react";

/** The time, every so often. It starts with the server's, so that both write the same first page. */
export function useNow(startedAt: string, everyMs: number): Date {
  const [now, setNow] = useState(() => new Date(startedAt));
  useEffect(() => {
    setNow(new Date());
    const timer = setInterval(() => setNow(new Date()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
