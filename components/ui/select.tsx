import { ChevronDown } from "lucide-react";
import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

/** The browser's own list: it types ahead, scrolls well on a phone and needs no JavaScript. */
export function Select({ small = false, className, ...props }: ComponentProps<"select"> & { small?: boolean }) {
  return (
    <span className={cn("select", small && "sm", className)}>
      <select className="input" {...props} />
      <ChevronDown className="i i-14" />
    </span>
  );
}
