"use client";

import { useEffect, useState } from "react";

/** The time, once a second. It starts with the server's, so that both write the same first page. */
export function useNow(startedAt: string): Date {
  const [now, setNow] = useState(() => new Date(startedAt));
  useEffect(() => {
    setNow(new Date());
    const timer = setInterval(() => setNow(new Date()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
