import { type CxOptions, cx } from "class-variance-authority";
import { twMerge } from "tailwind-merge";

/** Joins class names; of two Tailwind utilities for one property the later wins. */
export function cn(...classes: CxOptions): string {
  return twMerge(cx(classes));
}
