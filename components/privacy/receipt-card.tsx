"use client";

import { Download } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { Alert } from "#components/ui/alert.tsx";
import { Button } from "#components/ui/button.tsx";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { Facts } from "#components/ui/facts.tsx";
import { SecretText } from "#components/ui/secret-text.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { GivenReceipt } from "#lib/privacy/person.ts";
import { saveText } from "./save-file.ts";
import { useCounts } from "./use-counts.ts";

/** The receipt right after an erasure, with the salt that is shown this once. */
export function ReceiptCard({ receipt, timeZone }: { receipt: GivenReceipt; timeZone: string }) {
  const t = useTranslations("personalData.receipt");
  const word = useTranslations("labels");
  const counts = useCounts();
  const { dateTime } = siteFormat({ locale: useLocale(), timeZone });
  return (
    <Card title={t("title")}>
      <CardBody className="grid gap-4">
        <Alert tone="completed" title={t("done")}>
          {t("keep")}
        </Alert>
        <Facts
          facts={[
            [word("when"), dateTime(receipt.finishedAt ?? receipt.startedAt)],
            [word("what"), counts(receipt.counts)],
            [t("hash"), <code key="hash">{receipt.identifierHash}</code>],
          ]}
        />
        <div className="grid gap-1.5">
          <p className="text-sm font-medium">{t("salt")}</p>
          <SecretText value={receipt.salt} label={t("salt")} />
          <p className="text-xs text-meta text-pretty">{t("saltHint")}</p>
        </div>
      </CardBody>
      <CardFoot>
        <Button onClick={() => saveText(JSON.stringify(receipt, null, 2), `erasure-${receipt.id}.json`)}>
          <Download className="size-4" />
          {t("download")}
        </Button>
      </CardFoot>
    </Card>
  );
}
