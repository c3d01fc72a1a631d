"use client";

import { useEffectEvent, useLayoutEffect } from "react";

type Keys = Partial<Record<string, () => void>>;

/** Moving continues while the key is held; every other action runs once. */
const walking = new Set(["j", "k"]);
const closing = "[data-closed]";
const overlays = ["[data-slot=dialog]", "[data-slot=sheet]", "[data-slot=popover]", "[role=menu]"]
  .map((overlay) => `${overlay}:not(${closing})`)
  .join();

/** Whether a dialog, a sheet or a menu is open. One that fades out is not, and neither is a toast, though its role is dialog. */
export const isAsking = () => document.querySelector(overlays) !== null;

/** A choice is no typing: keys work on a radio button or a slider too. A field that fades out takes no more letters. */
const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches("input:not([type=radio], [type=checkbox], [type=range]), textarea, select")) &&
  !target.closest(closing);

/** Enter belongs to the link or button that has the focus, except on a row of a list, which a screen opens in its own way. */
const isTaken = ({ key, target }: KeyboardEvent) =>
  key === "Enter" && target !== document.body && !(target instanceof Element && target.matches("[data-row-link]"));

const isHeld = (event: KeyboardEvent) =>
  event.ctrlKey || event.metaKey || event.altKey || event.isComposing || (event.repeat && !walking.has(event.key));

/**
 * One key for each action. Keys do nothing while somebody types, holds another key, or a dialog is open.
 * They act on what is shown, from its first frame: the effect event and the layout effect are both in place before the browser paints.
 */
export function useKeys(keys: Keys): void {
  const press = useEffectEvent((event: KeyboardEvent) => {
    const act = keys[event.key];
    if (!act || event.defaultPrevented || isHeld(event) || isTaken(event) || isTyping(event.target) || isAsking()) return;
    event.preventDefault();
    act();
  });
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => press(event);
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}
