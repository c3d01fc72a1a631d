"use client";

import { useTranslations } from "next-intl";
import { useFailure } from "#components/forms/use-failure.ts";
import { PlainFailure } from "#components/shell/plain-failure.tsx";

export default function RootError({ error, retry }: { error: unknown; retry: () => void }) {
  const t = useTranslations();
  const { text, number } = useFailure(error);
  return (
    <PlainFailure
      title={t("ui.loadFailed")}
      body={text}
      retryLabel={t("actions.tryAgain")}
      retry={retry}
      number={number && t("ui.supportNumber", { number })}
    />
  );
}
