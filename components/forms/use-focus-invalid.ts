"use client";

import { type RefObject, useEffect, useRef } from "react";

/** After a refused form, moves to the first field that is wrong, so that its error is read out. */
export function useFocusInvalid(fields: Record<string, string> | undefined): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (!fields || Object.keys(fields).length === 0) return;
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [fields]);
  return form;
}
