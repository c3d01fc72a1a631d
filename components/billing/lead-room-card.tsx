"use client";

import { useLocale, useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { FormFailure } from "#components/forms/form-failure.tsx";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useFocusInvalid } from "#components/forms/use-focus-invalid.ts";
import { useSend } from "#components/forms/use-send.ts";
import { Card, CardBody } from "#components/ui/card.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { BillingOverview } from "#lib/billing/billing-shapes.ts";
import type { SiteId } from "#lib/site.ts";
import { keptForLeads } from "./kept-for-leads.ts";

interface LeadRoomProps {
  siteId: SiteId;
  plan: BillingOverview["plan"];
  editable: boolean;
}

/** How much of a plan with a cap only leads may use. Owners change it; the others read it. */
export function LeadRoomCard({ siteId, plan, editable }: LeadRoomProps) {
  const t = useTranslations("billing.leadRoom");
  const word = useTranslations("actions");
  const errorText = useErrorText();
  const format = billingFormat(useLocale());
  const { send, pending } = useSend();
  const [failure, setFailure] = useState<SendFailure | null>(null);
  const form = useFocusInvalid(failure?.fields);
  const wrong = failure?.fields.leadSharePercent;
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get("leadSharePercent") ?? "").trim();
    setFailure(null);
    send({
      method: "PATCH",
      url: `/api/sites/${siteId}/billing/lead-share`,
      body: { leadSharePercent: text === "" ? null : Number(text) },
      done: t("saved"),
      onFailed: setFailure,
    });
  };
  const signed = plan.signedEvents ?? 0;
  const now = {
    kept: format.number(keptForLeads(plan)),
    cap: format.number(plan.capEvents ?? 0),
    open: format.number(plan.openEvents ?? 0),
  };
  return (
    <Card title={t("title")}>
      <CardBody className="grid gap-3">
        <p className="text-sm text-support text-pretty">{t("body")}</p>
        <p className="text-sm font-medium text-pretty">{t("now", now)}</p>
        <p className="text-sm text-support text-pretty">{signed > 0 ? t("signed", { count: format.number(signed) }) : t("unsigned")}</p>
        {editable ? (
          <form ref={form} onSubmit={save} noValidate className="grid gap-3">
            <Field label={t("share")} hint={t("hint")} error={wrong && errorText(wrong)}>
              {(control) => (
                <Input
                  {...control}
                  name="leadSharePercent"
                  key={plan.leadSharePercent}
                  defaultValue={plan.leadSharePercent}
                  inputMode="numeric"
                  autoComplete="off"
                  maxLength={3}
                />
              )}
            </Field>
            <FormFailure code={failure?.code} requestId={failure?.requestId ?? null} fields={failure?.fields} />
            <SubmitButton size="sm" pending={pending} className="justify-self-start">
              {word("save")}
            </SubmitButton>
          </form>
        ) : (
          <p className="text-xs text-meta">{t("ownerOnly")}</p>
        )}
      </CardBody>
    </Card>
  );
}
