"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import type { SiteId } from "#lib/site.ts";

/** Ends the connection, after saying what then waits. */
export function Disconnect({ siteId, syncMethod }: { siteId: SiteId; syncMethod: "script" | "api" }) {
  const t = useTranslations("googleAds");
  const { send, pending } = useSend();
  const [open, setOpen] = useState(false);
  const disconnect = () =>
    send({
      method: "POST",
      url: `/api/sites/${siteId}/google-ads/disconnect`,
      done: t("disconnect.done"),
      onDone: () => setOpen(false),
    });
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={setOpen}
      title={t("disconnect.question")}
      description={t(syncMethod === "api" ? "disconnect.apiBody" : "disconnect.scriptBody")}
      confirm={t("disconnect.confirm")}
      cancel={t("disconnect.cancel")}
      pending={pending}
      onConfirm={disconnect}
      trigger={
        <Button tone="danger" className="ml-auto max-desk:ml-0">
          {t("disconnect.confirm")}
        </Button>
      }
    />
  );
}
