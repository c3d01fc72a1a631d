"use client";

import { useState } from "react";

type Expected<Row> = Readonly<Record<string, Partial<Row>>>;

export const layOver = <Row extends { id: string }>(row: Row, expected: Expected<Row>): Row =>
  row.id in expected ? { ...row, ...expected[row.id] } : row;

/** How rows look before the server has answered a change: it covers what the list shows, until it is dropped. */
export function useExpected<Row extends { id: string }>() {
  const [expected, setExpected] = useState<Expected<Row>>({});
  return {
    over: (row: Row): Row => layOver(row, expected),
    isExpected: (id: string) => id in expected,
    expect: (id: string, patch: Partial<Row>) => setExpected((now) => ({ ...now, [id]: { ...now[id], ...patch } })),
    /** Called when the change was refused, or when the row was read after it: patch the list first. */
    forget: (id: string) => setExpected(({ [id]: _, ...rest }) => rest as typeof expected),
  };
}
