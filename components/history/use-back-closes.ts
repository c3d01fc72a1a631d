"use client";

import { useEffect, useRef } from "react";
import { isPhone, openLayer } from "./layers.ts";

/** On a phone, Back closes this instead of leaving the page. */
export function useBackCloses(open: boolean, close: () => void): void {
  const latest = useRef(close);
  latest.current = close;
  useEffect(() => {
    if (open && isPhone()) return openLayer(() => latest.current());
  }, [open]);
}
