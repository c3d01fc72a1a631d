"use client";

import { type RefObject, useEffect, useRef } from "react";

/**
 * After a refused form, moves to the first field that is wrong, so that its error is read out: once for each answer. `answer` is kept by
 * the form until the next one. If it were made anew each time the form is drawn, every key would move away from the field it is typed in.
 */
export function useFocusInvalid(answer: unknown): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (answer) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [answer]);
  return form;
}
