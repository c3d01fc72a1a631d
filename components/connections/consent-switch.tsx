"use client";

import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import { getJson } from "#components/forms/get-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useSend } from "#components/forms/use-send.ts";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Select } from "#components/ui/select.tsx";
import { useToast } from "#components/ui/toast.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";

/** Whether visitors are asked first. Switching it on says before it happens how many events the installed snippet would lose. */
export function ConsentSwitch({ site, disabled }: { site: SiteSummary; disabled: boolean }) {
  const t = useTranslations("tracker");
  const word = useTranslations();
  const toast = useToast();
  const errorText = useErrorText();
  const { send, pending } = useSend();
  const [looking, setLooking] = useState(false);
  const [events, setEvents] = useState<number | null>(null);
  const { siteId, consentMode, respectsPrivacySignal } = site;
  const format = siteFormat({ locale: useLocale(), timeZone: site.timezone });
  const save = (mode: string) =>
    send({
      method: "PATCH",
      url: `/api/sites/${siteId}/privacy`,
      body: { consentMode: mode, respectsPrivacySignal },
      done: t("saved"),
      onDone: () => setEvents(null),
    });
  async function choose(mode: string): Promise<void> {
    if (mode === consentMode) return;
    if (mode === "off") return save(mode);
    setLooking(true);
    const cost = await getJson<{ events: number }>(`/api/sites/${siteId}/privacy`);
    setLooking(false);
    if (cost === null) toast.failed(errorText("INTERNAL"));
    else setEvents(cost.events);
  }
  return (
    <>
      <Field label={t("consent")} hint={t("consentHint")}>
        {(control) => (
          <Select
            {...control}
            value={consentMode}
            disabled={disabled || pending || looking}
            onChange={(event) => void choose(event.target.value)}
          >
            <option value="off">{t("consentOff")}</option>
            <option value="required">{t("consentRequired")}</option>
          </Select>
        )}
      </Field>
      <ConfirmDialog
        open={events !== null}
        onOpenChange={(open) => !open && setEvents(null)}
        title={t("askFirstQuestion")}
        description={t("askFirstCost", { count: events ?? 0, events: format.number(events ?? 0) })}
        confirm={t("askFirstConfirm")}
        cancel={word("actions.leave")}
        pending={pending}
        onConfirm={() => save("required")}
      >
        <p className="text-sm text-support text-pretty">{t("askFirstNext")}</p>
      </ConfirmDialog>
    </>
  );
}
