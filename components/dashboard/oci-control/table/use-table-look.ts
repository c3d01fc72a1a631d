"use client";

import { useSyncExternalStore } from "react";

/** How this reader likes the table: it stays with the browser, since it says nothing about the data. */
export const optionalColumns = ["source", "conversionTime", "tries", "updated"] as const;
export type OptionalColumn = (typeof optionalColumns)[number];
interface TableLook {
  density: "roomy" | "compact";
  hidden: OptionalColumn[];
}

const storageKey = "om.oci.table";
const usual: TableLook = { density: "roomy", hidden: ["conversionTime"] };
const listeners = new Set<() => void>();
let read: { text: string | null; look: TableLook } = { text: null, look: usual };

function current(): TableLook {
  let text: string | null = null;
  try {
    text = window.localStorage.getItem(storageKey);
  } catch {
    return read.look; // storage is forbidden: the choice lasts as long as the page
  }
  if (text !== read.text) read = { text, look: parse(text) };
  return read.look;
}

function parse(text: string | null): TableLook {
  try {
    const stored: unknown = JSON.parse(text ?? "");
    if (typeof stored !== "object" || stored === null) return usual;
    const hidden = "hidden" in stored && Array.isArray(stored.hidden) ? stored.hidden : usual.hidden;
    return {
      density: "density" in stored && stored.density === "compact" ? "compact" : "roomy",
      hidden: optionalColumns.filter((column) => hidden.includes(column)),
    };
  } catch {
    return usual;
  }
}

function store(look: TableLook): void {
  const text = JSON.stringify(look);
  read = { text, look };
  try {
    window.localStorage.setItem(storageKey, text);
  } catch {
    // see above
  }
  for (const tell of listeners) tell();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

export function useTableLook() {
  const look = useSyncExternalStore(subscribe, current, () => usual);
  return {
    ...look,
    shows: (column: OptionalColumn) => !look.hidden.includes(column),
    setDensity: (density: TableLook["density"]) => store({ ...look, density }),
    toggle: (column: OptionalColumn) =>
      store({ ...look, hidden: look.hidden.includes(column) ? look.hidden.filter((each) => each !== column) : [...look.hidden, column] }),
  };
}
