import type { ReactNode } from "react";

/** Shown above a list that somebody uses: how many new rows wait. */
export function NewRows({ count, onShow, children }: { count: number; onShow: () => void; children: ReactNode }) {
  return (
    <output className="block">
      {count > 0 && (
        <button
          type="button"
          onClick={onShow}
          className="block min-h-8 w-full border-line-1 border-b bg-accent-soft text-center font-medium text-accent-text text-sm focus-visible:-outline-offset-3 max-desk:min-h-11"
        >
          {children}
        </button>
      )}
    </output>
  );
}
