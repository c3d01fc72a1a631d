"use client";

import "./globals.css";
import { useSyncExternalStore } from "react";
import { lastWords } from "#lib/i18n/last-words.ts";
import { chooseLocale, type Locale, localeCookie } from "#lib/i18n/locale.ts";

/** The layout that knows the language is gone, so the page asks the browser. */
function readLocale(): Locale {
  const stored = document.cookie.match(new RegExp(`(?:^|; )${localeCookie}=(\\w+)`))?.[1];
  return chooseLocale(stored, navigator.language);
}

/** The last page there is: it shares no part with the others, so that nothing of theirs can break it. */
export default function GlobalError({ error, retry }: { error: unknown; retry: () => void }) {
  const locale = useSyncExternalStore(
    () => () => {},
    readLocale,
    () => "en" as const,
  );
  const words = lastWords[locale];
  const digest = error instanceof Error && "digest" in error ? String(error.digest) : null;
  return (
    <html lang={locale}>
      <body>
        <title>{words.title}</title>
        <main className="mx-auto max-w-160 px-4 py-8">
          <section className="rounded-lg border border-line-1 bg-surface-1" role="alert">
            <div className="grid justify-items-center gap-2 px-6 py-8 text-center">
              <h1 className="text-base font-semibold tracking-[-0.003em]">{words.title}</h1>
              <p className="max-w-[38ch] text-sm text-pretty text-support">{words.body}</p>
              <button
                type="button"
                className="mt-2 min-h-8.5 rounded-md bg-accent px-3 font-medium text-accent-on hover:bg-accent-hover max-desk:min-h-11"
                onClick={retry}
              >
                {words.retry}
              </button>
            </div>
            {digest && (
              <p className="text-xs text-meta id px-4 pb-4 text-center">
                {words.number} {digest}
              </p>
            )}
          </section>
        </main>
      </body>
    </html>
  );
}
