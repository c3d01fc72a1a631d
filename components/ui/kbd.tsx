import type { ReactNode } from "react";
import { cn } from "./cn.ts";

/** A key on the keyboard. `onAccent` is for one inside a primary button. */
export function Kbd({ onAccent = false, className, children }: { onAccent?: boolean; className?: string; children: ReactNode }) {
  return (
    <kbd
      className={cn(
        "inline-grid h-4.5 min-w-4.5 place-items-center rounded-[4px] bg-surface-2 px-1 font-sans text-[11px] leading-none font-medium text-meta inset-ring inset-ring-line-1",
        onAccent && "bg-[rgb(255_255_255/0.16)] text-inherit inset-ring-0",
        className,
      )}
    >
      {children}
    </kbd>
  );
}
