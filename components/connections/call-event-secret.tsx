"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useFreshSend } from "#components/forms/use-fresh-send.ts";
import { Button } from "#components/ui/button.tsx";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { SecretText } from "#components/ui/secret-text.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { DateText } from "#components/ui/time.tsx";
import { useToast } from "#components/ui/toast.tsx";
import type { SiteId } from "#lib/site.ts";

interface CallEventSecretProps {
  siteId: SiteId;
  timeZone: string;
  editable: boolean;
  /** null: the site has no secret yet. */
  madeAt: string | null;
  /** Until when a replaced secret still works. */
  previousUntil: string | null;
}

/** The secret a telephone system signs its calls with. It is shown once, when it is made. */
export function CallEventSecret({ siteId, timeZone, editable, ...stored }: CallEventSecretProps) {
  const t = useTranslations("callSecret");
  const word = useTranslations();
  const toast = useToast();
  const errorText = useErrorText();
  const sendFresh = useFreshSend();
  const [made, setMade] = useState<{ secret: string; madeAt: string | null; previousUntil: string | null } | null>(null);
  const [pending, setPending] = useState(false);
  const [asking, setAsking] = useState(false);
  const { madeAt, previousUntil } = made ?? stored;
  const date = (value: string) => () => <DateText value={value} timeZone={timeZone} />;

  async function make(): Promise<void> {
    setPending(true);
    const sent = await sendFresh("POST", `/api/sites/${siteId}/call-event-secret`, {});
    setPending(false);
    setAsking(false);
    if (!sent.ok) return void toast.failed(errorText(sent.code));
    const { secret, madeAt: at, previousUntil: until } = sent.value;
    setMade({ secret: String(secret), madeAt: at ? String(at) : null, previousUntil: until ? String(until) : null });
    toast.done(t("made"));
  }

  return (
    <Card title={t("title")}>
      <CardBody className="grid gap-3">
        <p className="text-sm text-support text-pretty">{t("lead")}</p>
        {made && <SecretText value={made.secret} label={t("title")} />}
        {made && <p className="text-sm text-support text-pretty">{t("shownOnce")}</p>}
        <p className="text-sm text-meta text-pretty">
          {madeAt ? t.rich("since", { date: date(madeAt) }) : t("none")}
          {previousUntil && <> {t.rich("previous", { date: date(previousUntil) })}</>}
        </p>
      </CardBody>
      {editable && (
        <CardFoot>
          {madeAt ? (
            <ConfirmDialog
              open={asking}
              onOpenChange={setAsking}
              title={t("rotateQuestion")}
              description={t("rotateConsequence")}
              confirm={t("rotateConfirm")}
              cancel={word("actions.cancel")}
              pending={pending}
              onConfirm={make}
              trigger={<Button>{t("rotate")}</Button>}
            />
          ) : (
            <SubmitButton type="button" pending={pending} onClick={make}>
              {t("create")}
            </SubmitButton>
          )}
          <span className="text-sm text-meta min-w-0 flex-1 text-pretty">{t(madeAt ? "rotateHint" : "createHint")}</span>
        </CardFoot>
      )}
    </Card>
  );
}
