import type { ReactNode } from "react";
import { CopyButton } from "./copy-button.tsx";

/** A value on a line of its own, with what can be done with it at the end. */
function SecretLine({ children }: { children: ReactNode }) {
  return (
    <div className="flex min-w-0 items-center gap-2 rounded-md bg-surface-2 py-1.5 pr-1.5 pl-3 text-sm inset-ring inset-ring-line-1">
      {children}
    </div>
  );
}

/** A value to carry elsewhere: readable, selectable as a whole, and copied with one press. */
export function SecretText({ value, label }: { value: string; label: string }) {
  return (
    <SecretLine>
      <code className="id min-w-0 flex-1 font-sans select-all" title={label}>
        {value}
      </code>
      <CopyButton value={value} size="sm" />
    </SecretLine>
  );
}
