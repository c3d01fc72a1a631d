"use client";

import "./globals.css";
import { useSyncExternalStore } from "react";
import { PlainFailure } from "#components/shell/plain-failure.tsx";
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
          <PlainFailure
            title={words.title}
            body={words.body}
            retryLabel={words.retry}
            retry={retry}
            number={digest && `${words.number} ${digest}`}
          />
        </main>
      </body>
    </html>
  );
}
