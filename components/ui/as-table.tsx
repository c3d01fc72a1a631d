import type { ReactNode } from "react";

/** A chart's figures as a table, folded below it. */
export function AsTable({ summary, children }: { summary: ReactNode; children: ReactNode }) {
  return (
    <details className="group">
      <summary className="flex min-h-10 cursor-pointer list-inside items-center border-t border-line-1 px-4 text-sm font-medium text-accent-text focus-visible:-outline-offset-3 max-desk:min-h-11 group-open:border-b">
        {summary}
      </summary>
      {children}
    </details>
  );
}
