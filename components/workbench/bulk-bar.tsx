import { cva } from "class-variance-authority";
import type { ReactNode } from "react";

/** The bar over the end of a list: what is ticked, or the progress of a long action. On a phone it is above the tab bar. */
export const overList = cva(
  "sticky bottom-4 z-3 mx-auto flex max-w-full rounded-[12px] bg-surface-pop text-sm shadow-lg max-desk:fixed max-desk:inset-x-2 max-desk:bottom-[calc(var(--spacing-tabbar)+8px)] max-desk:m-0 max-desk:grid max-desk:w-auto max-desk:max-w-none",
  {
    variants: {
      kind: {
        bulk: "w-max flex-wrap items-center gap-2 py-[7px] pr-2 pl-3.5 max-desk:grid-cols-[1fr_1fr_44px] max-desk:gap-x-2 max-desk:gap-y-0 max-desk:px-2 max-desk:pt-0.5 max-desk:pb-2",
        run: "w-[min(640px,100%)] items-center gap-4 px-3.5 py-3 max-desk:grid-cols-1 max-desk:gap-2.5 max-desk:p-3",
      },
    },
  },
);

interface BulkBarProps {
  label: string;
  /** How many and how much. */
  summary: ReactNode;
  clear: ReactNode;
  children: ReactNode;
}

/** Count and money of what is ticked, and what can be done with it. */
export function BulkBar({ label, summary, clear, children }: BulkBarProps) {
  return (
    <div data-slot="bulk-bar" className={overList({ kind: "bulk" })} role="toolbar" aria-label={label}>
      <span className="max-desk:-order-2 max-desk:col-span-2 max-desk:self-center whitespace-nowrap max-desk:pl-2" aria-live="polite">
        {summary}
      </span>
      {children}
      <span className="contents max-desk:*:-order-1">{clear}</span>
    </div>
  );
}
