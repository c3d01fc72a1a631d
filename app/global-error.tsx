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
        <main className="public">
          <section className="card" role="alert">
            <div className="empty">
              <h1 className="h2">{words.title}</h1>
              <p>{words.body}</p>
              <button type="button" className="btn primary" onClick={retry}>
                {words.retry}
              </button>
            </div>
            {digest && (
              <p className="xs t3 id px-4 pb-4 text-center">
                {words.number} {digest}
              </p>
            )}
          </section>
        </main>
      </body>
    </html>
  );
}
