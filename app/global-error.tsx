"use client";

import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { publicPage } from "#components/ui/page.tsx";
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
        <main className={publicPage}>
          <Card role="alert">
            <div className="grid justify-items-center gap-2 px-6 py-8 text-center">
              <h1 className="text-base font-semibold tracking-[-0.003em]">{words.title}</h1>
              <p className="max-w-[38ch] text-sm text-pretty text-support">{words.body}</p>
              <Button tone="primary" className="mt-2" onClick={retry}>
                {words.retry}
              </Button>
            </div>
            {digest && (
              <p className="text-xs text-meta id px-4 pb-4 text-center">
                {words.number} {digest}
              </p>
            )}
          </Card>
        </main>
      </body>
    </html>
  );
}
