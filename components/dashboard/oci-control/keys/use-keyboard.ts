"use client";

import { useEffect, useRef } from "react";

type Keys = Partial<Record<string, () => void>>;

/** What lies over the page and takes the keys. A toast has the role of a dialog, too, and must not silence "undo". */
const overlays = ".dialog, .sheet, .pop, [role=menu]";

/** Keys sleep while somebody types, while a dialog is open, and with a modifier held. */
function isBusy(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return true;
  const { target } = event;
  const typing =
    target instanceof HTMLElement && target.matches("input:not([type=checkbox]):not([type=range]), textarea, select, [contenteditable]");
  return typing || document.querySelector(overlays) !== null;
}

export function useKeyboard(keys: Keys): void {
  const newest = useRef(keys);
  newest.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const act = newest.current[event.key];
      if (!act || isBusy(event)) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

const links = () => [...document.querySelectorAll<HTMLElement>(".queue-tbl [data-row] .row-link")];
const rowOf = (element: Element | null) => element?.closest("[data-row]")?.getAttribute("data-row") ?? null;

/** The row that the keyboard stands on. */
export const focusedRow = () => rowOf(document.activeElement);

/** Moves the keyboard to the next or previous row and gives its id. `from` is where to start when it stands on none. */
export function stepFocus(step: 1 | -1, from: string | null): string | null {
  const all = links();
  const start = focusedRow() ?? from;
  const at = all.findIndex((link) => rowOf(link) === start);
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))];
  next?.focus();
  return rowOf(next ?? null);
}

export function focusRow(id: string): void {
  links()
    .find((link) => rowOf(link) === id)
    ?.focus();
}
