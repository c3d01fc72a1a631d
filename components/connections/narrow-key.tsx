"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import type { SiteId } from "#lib/site.ts";
import type { ApiKey } from "#lib/tenancy/readers.ts";
import { ScopeChoice } from "./scope-choice.tsx";

/** Takes uses away from a key. What stops is said before it does; a key never gets one back. */
export function NarrowKey({ siteId, apiKey }: { siteId: SiteId; apiKey: ApiKey }) {
  const t = useTranslations("apiKeys");
  const word = useTranslations();
  const { send, pending } = useSend();
  const [open, setOpen] = useState(false);
  const [kept, setKept] = useState(apiKey.scopes);
  const lost = apiKey.scopes.filter((scope) => !kept.includes(scope));
  const { name } = apiKey;
  const narrow = () =>
    send({
      method: "PATCH",
      url: `/api/sites/${siteId}/api-keys/${apiKey.id}`,
      body: { scopes: kept },
      done: t("narrowedDone", { name }),
      onDone: () => setOpen(false),
    });
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={(opening) => {
        setOpen(opening);
        if (opening) setKept(apiKey.scopes);
      }}
      title={t("narrowQuestion", { name })}
      description={t("narrowLead")}
      confirm={t("narrowConfirm", { count: lost.length })}
      cancel={word("actions.keep")}
      pending={pending}
      isReady={lost.length > 0 && kept.length > 0}
      onConfirm={narrow}
      trigger={
        <Button tone="ghost" size="sm" aria-label={t("narrowNamed", { name })}>
          {t("narrow")}
        </Button>
      }
    >
      <ScopeChoice offered={apiKey.scopes} chosen={kept} onChoose={setKept} error={kept.length === 0 ? t("narrowNone") : undefined} />
      {lost.length > 0 && kept.length > 0 && (
        <Alert tone="retry" title={t("narrowStops")}>
          {lost.map((scope) => (
            <p key={scope}>{t(`scopes.${scope}.stops`)}</p>
          ))}
        </Alert>
      )}
    </ConfirmDialog>
  );
}
