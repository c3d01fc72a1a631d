"use client";

import { useLocale, useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { FormFailure } from "#components/forms/form-failure.tsx";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useFocusInvalid } from "#components/forms/use-focus-invalid.ts";
import { useSend } from "#components/forms/use-send.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { SiteCeilings } from "#lib/tenancy/site-ceilings.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";

const fields = [
  ["minuteMax", "minuteByHand", "usualMinute"],
  ["dayMax", "dayByHand", "usualDay"],
] as const;

/** How many events the site takes, and what was turned away. */
export function CeilingsForm({ site, ceilings }: { site: SiteSummary; ceilings: SiteCeilings }) {
  const t = useTranslations("ceilings");
  const word = useTranslations();
  const errorText = useErrorText();
  const { send, pending } = useSend();
  const [failure, setFailure] = useState<SendFailure | null>(null);
  const form = useFocusInvalid(failure?.fields);
  const format = siteFormat({ locale: useLocale(), timeZone: "UTC" });

  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const number = (name: string) => (String(data.get(name) ?? "").trim() === "" ? null : Number(data.get(name)));
    setFailure(null);
    send({
      method: "PATCH",
      url: `/api/sites/${site.siteId}/ceilings`,
      body: Object.fromEntries(fields.map(([name]) => [name, number(name)])),
      done: word("settings.saved"),
      onFailed: setFailure,
    });
  };

  return (
    <Card title={t("title")}>
      <form ref={form} onSubmit={save} noValidate>
        <CardBody className="grid gap-5">
          <p className="text-sm text-support text-pretty">{t("lead")}</p>
          {ceilings.turnedAway[0] && (
            <Alert tone="retry" title={t("turnedAway")}>
              <ul>
                {ceilings.turnedAway.slice(0, 7).map(({ day, events }) => (
                  <li key={day}>{t("turnedAwayOn", { day: format.date(day), events })}</li>
                ))}
              </ul>
            </Alert>
          )}
          {fields.map(([name, byHand, usual]) => (
            <Field
              key={name}
              label={t(name)}
              hint={t("now", { max: ceilings[name], usual: ceilings[usual] })}
              error={failure?.fields[name] && errorText(failure.fields[name])}
            >
              {(control) => (
                <Input
                  {...control}
                  name={name}
                  defaultValue={ceilings[byHand] ?? ""}
                  placeholder={t("automatic")}
                  inputMode="numeric"
                  autoComplete="off"
                  maxLength={9}
                />
              )}
            </Field>
          ))}
          <FormFailure code={failure?.code} requestId={failure?.requestId ?? null} fields={failure?.fields} />
        </CardBody>
        <CardFoot>
          <SubmitButton tone="primary" pending={pending}>
            {word("actions.save")}
          </SubmitButton>
        </CardFoot>
      </form>
    </Card>
  );
}
