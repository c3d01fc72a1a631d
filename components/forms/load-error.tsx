"use client";

import { useTranslations } from "next-intl";
import { useEffect } from "react";
import { PlainFailure } from "#components/shell/plain-failure.tsx";
import { lookForNewVersion } from "#components/ui/new-version.ts";
import { useErrorText } from "./use-error-text.ts";

function digestOf(error: unknown): string | null {
  return error instanceof Error && "digest" in error && typeof error.digest === "string" ? error.digest : null;
}

/** A page that did not load: what happened, a way to try again, and the number support can look up. */
export function LoadError({ error, retry }: { error: unknown; retry: () => void }) {
  const t = useTranslations();
  const errorText = useErrorText();
  const digest = digestOf(error);
  // Without a number it happened in the browser, perhaps because a deployment took the page's files away.
  useEffect(() => {
    if (!digest) void lookForNewVersion();
  }, [digest]);
  // Our own errors send "<CODE> <request id>"; any other digest is only a number for support.
  const [, code = "INTERNAL", number = digest] = digest?.match(/^([A-Z_]+) (\S+)$/) ?? [];
  return (
    <PlainFailure
      title={t("ui.loadFailed")}
      body={errorText(code)}
      retryLabel={t("actions.tryAgain")}
      retry={retry}
      number={number && t("ui.supportNumber", { number })}
    />
  );
}
