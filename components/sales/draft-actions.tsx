"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { SiteId } from "#lib/site.ts";

interface DraftActionsProps {
  siteId: SiteId;
  saleId: string;
  version: number;
  /** As it is written on the button. */
  amount: string;
}

/** What an operator does with a sale that another system reported. */
export function DraftActions({ siteId, saleId, version, amount }: DraftActionsProps) {
  const t = useTranslations("sales");
  const word = useTranslations();
  const seal = useSend();
  const discard = useSend();
  const [asking, setAsking] = useState(false);
  const change = (path: "confirm" | "cancel") => ({
    method: "POST" as const,
    url: `/api/sites/${siteId}/sales/${saleId}/${path}`,
    body: { expectedVersion: version },
  });
  return (
    <div className="flex min-w-0 items-center gap-2">
      <SubmitButton
        type="button"
        size="sm"
        pending={seal.pending}
        onClick={() => seal.send({ ...change("confirm"), done: t("sealed", { amount }) })}
      >
        {word("actions.seal", { amount })}
      </SubmitButton>
      <ConfirmDialog
        open={asking}
        onOpenChange={setAsking}
        title={t("discardQuestion", { amount })}
        description={t("discardConsequence")}
        confirm={t("discard")}
        cancel={word("actions.keep")}
        pending={discard.pending}
        onConfirm={() => discard.send({ ...change("cancel"), done: t("discarded"), onDone: () => setAsking(false) })}
        trigger={
          <Button tone="ghost" size="sm">
            {t("discard")}
          </Button>
        }
      />
    </div>
  );
}
