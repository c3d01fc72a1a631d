"use client";

import { useEffect, useRef } from "react";

export interface DeskKeys {
  onStep: (step: 1 | -1) => void;
  onOpen: () => void;
  onSeal: () => void;
  onJunk: () => void;
  onUndo: () => void;
  onSearch: () => void;
  onHelp: () => void;
  onEscape: () => void;
}

/** A choice is no typing: keys work on a radio button or a slider too. */
const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    (target.matches("input, textarea, select") && !target.matches('[type="radio"], [type="checkbox"], [type="range"]')));

/** Whether a dialog or a sheet is open. A toast has the role of a dialog too, and must not put the keys to sleep. */
export const isAsking = () => document.querySelector(".dialog, .sheet") !== null;

/** One key for each deed. They sleep while somebody types, holds another key, or answers a question. */
export function useDeskKeys(keys: DeskKeys): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const now = latest.current;
      if (event.key === "Escape") return now.onEscape();
      if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing || event.defaultPrevented) return;
      if (isTyping(event.target) || isAsking()) return;
      const deeds: Record<string, () => void> = {
        j: () => now.onStep(1),
        k: () => now.onStep(-1),
        s: now.onSeal,
        x: now.onJunk,
        u: now.onUndo,
        "/": now.onSearch,
        "?": now.onHelp,
      };
      // Enter belongs to a link or button that has the focus, but for a row of the list: there it opens the lead.
      const deed = event.key === "Enter" && (event.target === document.body || onRow(event.target)) ? now.onOpen : deeds[event.key];
      if (!deed || (event.repeat && event.key !== "j" && event.key !== "k")) return;
      event.preventDefault();
      deed();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}

const onRow = (target: EventTarget | null) => target instanceof Element && target.matches(".lead .row-link");
