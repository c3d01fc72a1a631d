"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { AmountReadings } from "#components/forms/amount-readings.tsx";
import { FormFailure } from "#components/forms/form-failure.tsx";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useAmount } from "#components/forms/use-amount.ts";
import { useSend } from "#components/forms/use-send.ts";
import { TradeSuggestion } from "#components/sites/trade-suggestion.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { SiteDelivery } from "#lib/tenancy/site-delivery.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import { suggestedPresets } from "#lib/valuation/trades.ts";

const asText = (cents: number | undefined) => (cents === undefined ? "" : String(cents / 100));

interface ValuesStepProps {
  site: SiteSummary;
  delivery: SiteDelivery;
  editable: boolean;
}

/** The average order and the amounts for one tap: suggested, but chosen by the owner. */
export function ValuesStep({ site: { siteId, currency }, delivery, editable }: ValuesStepProps) {
  const t = useTranslations("setup.values");
  const word = useTranslations();
  const { send, pending } = useSend();
  const [failure, setFailure] = useState<SendFailure | null>(null);
  const [tried, setTried] = useState(false);
  const stored = delivery.amountPresets.length > 0 ? delivery.amountPresets : suggestedPresets(delivery.defaultAovCents);
  const order = useAmount(currency, asText(delivery.defaultAovCents));
  const presets = [useAmount(currency, asText(stored[0])), useAmount(currency, asText(stored[1])), useAmount(currency, asText(stored[2]))];
  const suggest = (text: string) => {
    order.setText(text);
    const amounts = suggestedPresets(Number(text) * 100);
    for (const [index, preset] of presets.entries()) preset.setText(asText(amounts[index]));
  };
  const given = presets.filter(({ text }) => text.trim() !== "");
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setTried(true);
    setFailure(null);
    if ([order, ...given].some(({ cents }) => cents === null) || given.length === 0) return;
    void send({
      method: "PATCH",
      url: `/api/sites/${siteId}/delivery`,
      body: { defaultAovCents: order.cents, amountPresets: given.map(({ cents }) => cents) },
      done: t("saved"),
      onFailed: setFailure,
    });
  };
  return (
    <form onSubmit={save} noValidate className="grid gap-4">
      <p className="text-sm text-support text-pretty">{t("lead")}</p>
      <TradeSuggestion currency={currency} onSuggest={suggest} />
      <Field label={word("labels.averageOrder", { currency })} hint={t("orderHint")} error={(tried && order.problem) || undefined}>
        {(control) => <AmountInput {...control} amount={order} disabled={!editable} />}
      </Field>
      <AmountReadings amount={order} />
      <fieldset className="grid gap-2">
        <legend className="pb-2 text-sm font-medium">{t("presets")}</legend>
        <div className="grid grid-cols-3 gap-3 max-desk:grid-cols-1">
          {presets.map((preset, index) => {
            const error = tried && preset.text.trim() !== "" ? preset.problem : null;
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: three fields that never change places
              <Field key={index} label={t(`preset.${index === 0 ? "small" : index === 1 ? "usual" : "large"}`)} error={error ?? undefined}>
                {(control) => <AmountInput {...control} amount={preset} disabled={!editable} />}
              </Field>
            );
          })}
        </div>
        <p className="text-xs text-meta text-pretty">{t(tried && given.length === 0 ? "presetsNone" : "presetsHint")}</p>
      </fieldset>
      <FormFailure code={failure?.code} requestId={failure?.requestId ?? null} fields={failure?.fields} />
      {editable && (
        <div>
          <SubmitButton tone="primary" pending={pending}>
            {t("save")}
          </SubmitButton>
        </div>
      )}
    </form>
  );
}

interface AmountInputProps {
  id: string;
  "aria-invalid": boolean;
  "aria-describedby": string | undefined;
  amount: ReturnType<typeof useAmount>;
  disabled: boolean;
}

const AmountInput = ({ amount, ...control }: AmountInputProps) => (
  <Input {...control} value={amount.text} inputMode="decimal" autoComplete="off" onChange={(event) => amount.setText(event.target.value)} />
);
