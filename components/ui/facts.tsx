import type { ReactNode } from "react";

/** Names at the left, what they are at the right; an empty fact is left out. */
export function Facts({ facts }: { facts: (readonly [string, ReactNode] | false | null | undefined | "")[] }) {
  return (
    <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-1 text-sm">
      {facts.map(
        (fact) =>
          fact && (
            <div key={fact[0]} className="contents">
              <dt className="text-meta">{fact[0]}</dt>
              <dd className="wrap-anywhere">{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
