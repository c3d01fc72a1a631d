"use client";

import { type RefObject, useEffect, useRef } from "react";

/**
 * After a refused form, moves to the first field that is wrong, so that its error is read out: once for each answer. `answer` must stay
 * the same object until the next one: a new one on every render would move the cursor away at every key.
 */
export function useFocusInvalid(answer: unknown): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (answer) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [answer]);
  return form;
}
