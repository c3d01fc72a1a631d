"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { AmountReadings } from "#components/forms/amount-readings.tsx";
import { FormFailure } from "#components/forms/form-failure.tsx";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useAmount } from "#components/forms/use-amount.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useFocusInvalid } from "#components/forms/use-focus-invalid.ts";
import { useSend } from "#components/forms/use-send.ts";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input, Textarea } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { ConsentChoice } from "./consent-choice.tsx";
import { SiteChoiceFields, type SiteChoices } from "./site-choice-fields.tsx";
import { TradeSuggestion } from "./trade-suggestion.tsx";

export interface SiteValues {
  name: string;
  domains: string[];
  currency: string;
  timezone: string;
  locale: string;
}

interface SiteFormProps {
  values: SiteValues;
  choices: SiteChoices;
  method: "POST" | "PATCH";
  url: string;
  title: string;
  submit: string;
  done: string;
  onDone?: (value: Record<string, unknown>) => void;
}

function readForm(form: HTMLFormElement): SiteValues & { consentMode?: string } {
  const data = new FormData(form);
  const text = (name: string) => String(data.get(name) ?? "");
  // People separate a list by lines, commas or blanks; an empty line is not a domain.
  const domains = text("domains")
    .split(/[\s,;]+/)
    .filter(Boolean);
  const consentMode = data.get("consentMode"); // asked for a new site only
  const asked = { name: text("name"), domains, currency: text("currency"), timezone: text("timezone"), locale: text("locale") };
  return { ...asked, ...(typeof consentMode === "string" && { consentMode }) };
}

/** The fields of a site, to create it or to change it. */
export function SiteForm({ values, choices, method, url, title, submit, done, onDone }: SiteFormProps) {
  const t = useTranslations("siteForm");
  const word = useTranslations();
  const errorText = useErrorText();
  const { send, pending } = useSend();
  const [failure, setFailure] = useState<SendFailure | null>(null);
  const [currency, setCurrency] = useState(values.currency);
  const order = useAmount(currency);
  // SQL names the field itself when another owner changed the currency meanwhile: then only it knows that this is another one.
  const isOrderRefused = failure?.facts.field === "defaultAovCents" || failure?.fields.defaultAovCents !== undefined;
  const isNew = method === "POST";
  const needsOrder = isNew || currency !== values.currency || isOrderRefused;
  const form = useFocusInvalid(failure?.fields);
  const errorOf = (field: string) => failure?.fields[field] && errorText(failure.fields[field]);
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (pending) return;
    setFailure(null);
    const body = { ...readForm(event.currentTarget), ...(needsOrder && { defaultAovCents: order.cents }) };
    void send({ method, url, body, done, onFailed: setFailure, ...(onDone && { onDone }) });
  };
  return (
    <Card title={title}>
      <form ref={form} onSubmit={save} noValidate>
        <CardBody className="grid gap-5">
          <Field label={word("labels.name")} hint={t("nameHint")} error={errorOf("name")}>
            {(control) => <Input {...control} name="name" defaultValue={values.name} autoComplete="organization" maxLength={120} />}
          </Field>
          <Field label={t("domains")} hint={t("domainsHint")} error={errorOf("domains")}>
            {(control) => (
              <Textarea
                {...control}
                key={values.domains.join("\n")} // shows what was stored: "https://Example.com/" becomes "example.com"
                name="domains"
                rows={3}
                defaultValue={values.domains.join("\n")}
                placeholder={t("domainsExample")}
                inputMode="url"
                autoCapitalize="off"
                spellCheck={false}
              />
            )}
          </Field>
          <SiteChoiceFields values={values} choices={choices} errorOf={errorOf} onCurrency={setCurrency} />
          {isNew && <ConsentChoice error={errorOf("consentMode")} />}
          {isNew && <TradeSuggestion key={currency} currency={currency} onSuggest={order.setText} />}
          {needsOrder && (
            <>
              <Field
                label={word("labels.averageOrder", { currency })}
                hint={isNew ? t("averageOrderNew") : t("averageOrderHint", { currency })}
                error={(isOrderRefused && order.problem) || undefined}
              >
                {(control) => (
                  <Input
                    {...control}
                    value={order.text}
                    inputMode="decimal"
                    autoComplete="off"
                    onChange={(event) => order.setText(event.target.value)}
                  />
                )}
              </Field>
              <AmountReadings amount={order} />
            </>
          )}
          <FormFailure code={failure?.code} requestId={failure?.requestId ?? null} fields={failure?.fields} />
        </CardBody>
        <CardFoot>
          <SubmitButton tone="primary" pending={pending}>
            {submit}
          </SubmitButton>
        </CardFoot>
      </form>
    </Card>
  );
}
