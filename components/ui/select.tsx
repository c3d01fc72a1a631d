import { ChevronDown } from "lucide-react";
import type { ComponentProps } from "react";
import { cn } from "./cn.ts";
import { control } from "./input.tsx";

/** The browser's own list: it types ahead, scrolls well on a phone and needs no JavaScript. */
export function Select({ small = false, className, ...props }: ComponentProps<"select"> & { small?: boolean }) {
  return (
    <span className={cn("relative grid items-center", className)}>
      <select
        className={cn(control, "appearance-none pr-8.5 text-ellipsis", small && "min-h-7 border-line-2 py-0.75 pr-7 pl-2.25 text-sm")}
        {...props}
      />
      <ChevronDown className={cn("pointer-events-none absolute right-2.75 size-3.5 text-meta", small && "right-2")} />
    </span>
  );
}
