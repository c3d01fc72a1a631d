"use client";

import { Download, ShieldCheck } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { verifier } from "#components/billing/download-link.tsx";
import { Button, ButtonAnchor } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";

const steps = ["page", "hash", "block", "chain"] as const;

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
      <DialogFoot>
        <DialogClose render={<Button />}>{t("actions.close")}</DialogClose>
        <ButtonAnchor href={verifier.path} target="_blank">
          {t("receipt.check.show")}
        </ButtonAnchor>
        <ButtonAnchor href={verifier.path} download={verifier.fileName} tone="primary">
          <Download />
          {t("receipt.check.download")}
        </ButtonAnchor>
      </DialogFoot>
    </Dialog>
  );
}
