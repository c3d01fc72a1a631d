"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import type { SiteId } from "#lib/site.ts";

export function RevokeKey({ siteId, keyId, name }: { siteId: SiteId; keyId: string; name: string }) {
  const t = useTranslations("apiKeys");
  const word = useTranslations();
  const { send, pending } = useSend();
  const [open, setOpen] = useState(false);
  const revoke = () =>
    send({
      method: "DELETE",
      url: `/api/sites/${siteId}/api-keys/${keyId}`,
      done: t("revokedDone", { name }),
      onDone: () => setOpen(false),
    });
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={setOpen}
      title={t("revokeQuestion", { name })}
      description={t("revokeConsequence")}
      confirm={t("revokeConfirm")}
      cancel={word("actions.keep")}
      pending={pending}
      onConfirm={revoke}
      trigger={
        <Button tone="ghost" size="sm" aria-label={t("revokeNamed", { name })}>
          {t("revoke")}
        </Button>
      }
    />
  );
}
