import { type CxOptions, cx } from "class-variance-authority";
import { mergeClasses } from "./class-groups.ts";

/** Joins class names; of two Tailwind utilities for one property the later wins. */
export function cn(...classes: CxOptions): string {
  return mergeClasses(cx(classes));
}
