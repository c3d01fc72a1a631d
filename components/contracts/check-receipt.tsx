"use client";

import { ShieldCheck } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { Button } from "#components/ui/button.tsx";
import { CopyButton } from "#components/ui/copy-button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { SecretLine } from "#components/ui/secret-text.tsx";

const command = "node scripts/verify-receipt.ts receipt.json";
const steps = ["hash", "block", "chain"] as const;

/** Says how a receipt is checked by somebody who does not trust us. */
export function CheckReceipt() {
  const t = useTranslations();
  const [open, setOpen] = useState(false);
  const trigger = (
    <Button>
      <ShieldCheck />
      {t("receipt.check.open")}
    </Button>
  );
  return (
    <Dialog open={open} onOpenChange={setOpen} title={t("receipt.check.title")} description={t("receipt.check.lead")} trigger={trigger}>
      <ol className="grid gap-3 text-sm list-decimal ps-5">
        {steps.map((step) => (
          <li key={step} className="text-pretty">
            {t(`receipt.check.steps.${step}`)}
          </li>
        ))}
      </ol>
      <SecretLine>
        <code className="min-w-0 flex-1 id">{command}</code>
        <CopyButton value={command} size="sm" />
      </SecretLine>
      <DialogFoot>
        <DialogClose render={<Button tone="primary" />}>{t("actions.close")}</DialogClose>
      </DialogFoot>
    </Dialog>
  );
}
