import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

/** A quiet line with a dot that says how fresh what is shown is; `stale` when it is not. */
export function LiveMark({ stale = false, className, ...props }: ComponentProps<"span"> & { stale?: boolean }) {
  return (
    <span
      className={cn(
        "inline-flex items-center gap-1.75 text-xs text-meta before:size-1.75 before:shrink-0 before:rounded-full before:bg-completed-mark",
        stale && "before:bg-retry-mark",
        className,
      )}
      {...props}
    />
  );
}
