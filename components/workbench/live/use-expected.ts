"use client";

import { useState } from "react";

/** How rows look before the server has answered a change: it lies over whatever the list shows, until it is forgotten. */
export function useExpected<Row extends { id: string }>() {
  const [expected, setExpected] = useState<Readonly<Record<string, Partial<Row>>>>({});
  return {
    over: (row: Row): Row => (row.id in expected ? { ...row, ...expected[row.id] } : row),
    isExpected: (id: string) => id in expected,
    expect: (id: string, patch: Partial<Row>) => setExpected((now) => ({ ...now, [id]: { ...now[id], ...patch } })),
    /** The change was refused, or the row was read after it: patch the list with it first. */
    forget: (id: string) => setExpected(({ [id]: _, ...rest }) => rest as typeof expected),
  };
}
