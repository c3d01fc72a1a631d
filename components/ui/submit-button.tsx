"use client";

import { LoaderCircle } from "lucide-react";
import type { ComponentProps, MouseEvent } from "react";
import { useFormStatus } from "react-dom";
import { Button, type ButtonLook } from "./button.tsx";

type SubmitButtonProps = ComponentProps<"button"> & ButtonLook & { pending?: boolean };

/**
 * Sends its form and shows that it is on its way. It stays focusable while it waits, so a keyboard user is not thrown
 * back to the top of the page, but a second press does nothing.
 */
export function SubmitButton({ pending, children, onClick, type = "submit", ...props }: SubmitButtonProps) {
  const form = useFormStatus();
  const busy = pending ?? form.pending;
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    if (busy) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <Button {...props} type={type} aria-busy={busy} onClick={press}>
      {busy && <LoaderCircle className="animate-spin" />}
      {children}
    </Button>
  );
}
