"use client";

import { useEffect, useRef, useState } from "react";
import type { DeskFigures } from "#lib/leads/desk-shapes.ts";
import type { DeskState } from "../desk-state.ts";

const settleMs = 1500;

/** The figures, read again shortly after the leads behind them changed. */
export function useFigures(siteId: string, first: DeskFigures, { leads, needsYou, arrived, open }: DeskState): DeskFigures {
  const [read, setRead] = useState<DeskFigures | null>(null);
  const isFirst = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of these is the event, not an input
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    const timer = setTimeout(async () => {
      const response = await fetch(`/api/sites/${siteId}/figures`).catch(() => null);
      if (response?.ok) setRead(await response.json()); // our own route, checked where it was read
    }, settleMs);
    return () => clearTimeout(timer);
  }, [siteId, leads, needsYou, arrived, open]);
  return read && read.asOf > first.asOf ? read : first;
}
