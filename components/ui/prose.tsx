import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

/** Paragraphs, headings and lists that are read, not worked with. */
export function Prose({ className, ...props }: ComponentProps<"article">) {
  return (
    <article
      className={cn(
        "grid gap-3 text-sm leading-5 text-pretty text-support [&_b]:font-semibold [&_b]:text-content [&_h2]:mt-3 [&_h2]:text-content [&_ul]:grid [&_ul]:list-disc [&_ul]:gap-1 [&_ul]:pl-[1.2em]",
        className,
      )}
      {...props}
    />
  );
}
