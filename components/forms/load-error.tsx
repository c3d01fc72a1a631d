"use client";

import { RotateCw, ServerCrash } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { useFailure } from "./use-failure.ts";

/** A page that did not load: what happened, a way to try again, and the number support can look up. */
export function LoadError({ error, retry }: { error: unknown; retry: () => void }) {
  const t = useTranslations();
  const { text, number } = useFailure(error);
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
        {text}
      </EmptyState>
      {number && <p className="text-xs text-meta id px-4 pb-4 text-center">{t("ui.supportNumber", { number })}</p>}
    </Card>
  );
}
