import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

export const listRow =
  "flex min-h-12 items-center gap-3 border-b border-line-1 px-4 py-2.25 text-sm last:border-b-0 max-desk:flex-wrap max-desk:py-3";

/** One line of a short list in a card. */
export function ListRow({ className, ...props }: ComponentProps<"div">) {
  return <div className={cn(listRow, className)} {...props} />;
}
