"use client";

import { Eye } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useFreshSend } from "#components/forms/use-fresh-send.ts";
import { Button } from "#components/ui/button.tsx";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { SecretLine, SecretText } from "#components/ui/secret-text.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { useToast } from "#components/ui/toast.tsx";
import type { SiteId } from "#lib/site.ts";

const hiddenSecret = "•".repeat(24);

/** The secret a telephone system signs its calls with. It is fetched only when asked for. */
export function CallEventSecret({ siteId, editable }: { siteId: SiteId; editable: boolean }) {
  const t = useTranslations("callSecret");
  const word = useTranslations();
  const toast = useToast();
  const errorText = useErrorText();
  const sendFresh = useFreshSend();
  const [secret, setSecret] = useState<string | null>(null);
  const [pending, setPending] = useState(false);
  const [asking, setAsking] = useState(false);

  async function fetchSecret(rotate: boolean): Promise<void> {
    setPending(true);
    const sent = await sendFresh("POST", `/api/sites/${siteId}/call-event-secret`, { rotate });
    setPending(false);
    setAsking(false);
    if (!sent.ok) toast.failed(errorText(sent.code));
    else {
      setSecret(String(sent.value.secret));
      if (rotate) toast.done(t("rotated"));
    }
  }

  return (
    <Card title={t("title")}>
      <CardBody className="grid gap-3">
        <p className="text-sm text-support text-pretty">{t("lead")}</p>
        {secret ? (
          <SecretText value={secret} label={t("title")} />
        ) : (
          <SecretLine>
            <span className="min-w-0 flex-1 truncate text-meta" aria-hidden="true">
              {hiddenSecret}
            </span>
            <SubmitButton type="button" size="sm" pending={pending && !asking} onClick={() => fetchSecret(false)}>
              {!pending && <Eye className="size-3.5" />}
              {t("reveal")}
            </SubmitButton>
          </SecretLine>
        )}
      </CardBody>
      {editable && (
        <CardFoot>
          <ConfirmDialog
            open={asking}
            onOpenChange={setAsking}
            title={t("rotateQuestion")}
            description={t("rotateConsequence")}
            confirm={t("rotateConfirm")}
            cancel={word("actions.cancel")}
            pending={pending}
            onConfirm={() => fetchSecret(true)}
            trigger={<Button>{t("rotate")}</Button>}
          />
          <span className="text-sm text-meta min-w-0 flex-1 text-pretty">{t("rotateHint")}</span>
        </CardFoot>
      )}
    </Card>
  );
}
