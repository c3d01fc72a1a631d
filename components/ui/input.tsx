import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

/** The edge and the states of everything that is typed into or chosen from. On a phone its focus is not left behind the bars. */
export const control = [
  "min-h-8.5 w-full rounded-md border border-control bg-surface-1 px-2.75 py-1.25 max-desk:min-h-11 max-desk:scroll-my-24 max-desk:text-[1rem]",
  "focus-visible:border-accent focus-visible:ring-3 focus-visible:ring-accent-fill focus-visible:outline-1 focus-visible:outline-offset-0 focus-visible:outline-accent",
  "disabled:cursor-not-allowed disabled:border-line-1 disabled:bg-surface-2 disabled:text-meta disabled:opacity-100 aria-invalid:border-failed",
];
const readOnly = "read-only:border-line-2 read-only:bg-surface-2";

export function Input({ className, ...props }: ComponentProps<"input">) {
  return <input className={cn(control, readOnly, className)} {...props} />;
}

export function Textarea({ className, ...props }: ComponentProps<"textarea">) {
  return <textarea className={cn(control, readOnly, "min-h-21 resize-y py-1.75 max-desk:min-h-21", className)} {...props} />;
}
