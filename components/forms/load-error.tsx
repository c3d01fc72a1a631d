"use client";

import { RotateCw, ServerCrash } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect } from "react";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
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
    <Card role="alert">
      <EmptyState
        icon={ServerCrash}
        heading="h1"
        title={t("ui.loadFailed")}
        action={
          <Button tone="primary" onClick={retry}>
            <RotateCw />
            {t("actions.tryAgain")}
          </Button>
        }
      >
        {errorText(code)}
      </EmptyState>
      {number && <p className="text-xs text-meta id px-4 pb-4 text-center">{t("ui.supportNumber", { number })}</p>}
    </Card>
  );
}
