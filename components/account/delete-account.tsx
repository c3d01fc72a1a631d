"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { Card, CardBody } from "#components/ui/card.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";

/** Ends the account. While an open site has no other owner, it says which and offers no button. */
export function DeleteAccount({ email, inTheWay }: { email: string; inTheWay: string[] }) {
  const t = useTranslations("account");
  const { send, pending } = useSend();
  const [open, setOpen] = useState(false);
  const end = () =>
    send({
      method: "DELETE",
      url: "/api/account",
      onDone: () => window.location.assign("/sign-in"), // a whole new page: nothing of the account stays in memory
    });
  return (
    <Card title={t("deleteTitle")}>
      <CardBody className="flex min-w-0 flex-wrap items-center gap-3">
        <p className="min-w-60 flex-1 text-sm text-pretty text-support">
          {inTheWay.length > 0 ? t("deleteFirst", { sites: inTheWay.join(", ") }) : t("deleteLead")}
        </p>
        {inTheWay.length === 0 && (
          <ConfirmDialog
            open={open}
            onOpenChange={setOpen}
            title={t("deleteQuestion", { email })}
            description={t("deleteConsequence")}
            confirm={t("deleteConfirm")}
            cancel={t("deleteKeep")}
            pending={pending}
            onConfirm={end}
            trigger={<Button tone="danger">{t("deleteTitle")}</Button>}
          />
        )}
      </CardBody>
    </Card>
  );
}
