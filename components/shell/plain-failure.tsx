"use client";

interface PlainFailureProps {
  title: string;
  body: string;
  retryLabel: string;
  retry: () => void;
  /** The line with the number that support can look up. */
  number: string | null;
}

/** A page that did not load, without a part of the others: every page carries it, and nothing of theirs can break it. */
export function PlainFailure({ title, body, retryLabel, retry, number }: PlainFailureProps) {
  return (
    <section className="rounded-lg border border-line-1 bg-surface-1" role="alert">
      <div className="grid justify-items-center gap-2 px-6 py-8 text-center">
        <h1 className="text-base font-semibold tracking-[-0.003em]">{title}</h1>
        <p className="max-w-[38ch] text-sm text-pretty text-support">{body}</p>
        <button
          type="button"
          className="mt-2 min-h-8.5 rounded-md bg-accent px-3 font-medium text-accent-on hover:bg-accent-hover max-desk:min-h-11"
          onClick={retry}
        >
          {retryLabel}
        </button>
      </div>
      {number && <p className="text-xs text-meta id px-4 pb-4 text-center">{number}</p>}
    </section>
  );
}
