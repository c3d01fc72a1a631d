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
import { Alert } from "#components/ui/alert.tsx";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { Checkbox } from "#components/ui/checkbox.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SecretText } from "#components/ui/secret-text.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { snippetOfSite } from "#lib/ingest/install-snippet.ts";
import { conversionKeys } from "#lib/tenancy/conversion-names.ts";
import type { SiteDelivery } from "#lib/tenancy/site-delivery.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import { SignalRules } from "./signal-rules.tsx";
import { StageValues, weightOf } from "./stage-values.tsx";

interface DeliveryFormProps {
  site: SiteSummary;
  appUrl: string;
  delivery: SiteDelivery;
}

const timings = [
  ["sendDelayMinutes", "sendDelay"],
  ["clickMinAgeHours", "clickAge"],
  ["needsYouAfterHours", "needsYou"],
] as const;

/** What leads are worth, when conversions are sent, and under which names. */
export function DeliveryForm({ site, appUrl, delivery }: DeliveryFormProps) {
  const { siteId, currency } = site;
  const t = useTranslations("delivery");
  const word = useTranslations();
  const tracker = useTranslations("tracker");
  const errorText = useErrorText();
  const { send, pending } = useSend();
  const [failure, setFailure] = useState<SendFailure | null>(null);
  const order = useAmount(currency, String(delivery.defaultAovCents / 100));
  /** What the switch was last changed to here: the installed line must follow. */
  const [changedViews, setChangedViews] = useState<boolean | null>(null);
  const [sealedShare, setSealedShare] = useState(() => String(Number((delivery.intentWeights.sealed * 100).toFixed(4))));
  const [sendsStages, setSendsStages] = useState(delivery.signalsEnabled);
  const form = useFocusInvalid(failure?.fields);
  const errorOf = (field: string) => failure?.fields[field] && errorText(failure.fields[field]);

  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const number = (name: string) => (String(data.get(name) ?? "").trim() === "" ? null : Number(data.get(name)));
    const pageViewsEnabled = data.get("pageViewsEnabled") !== null;
    setFailure(null);
    send({
      method: "PATCH",
      url: `/api/sites/${siteId}/delivery`,
      body: {
        defaultAovCents: order.cents,
        intentWeights: { ...delivery.intentWeights, sealed: weightOf(sealedShare) },
        signalsEnabled: data.get("signalsEnabled") !== null,
        signalsDailyMax: number("signalsDailyMax"),
        pageViewsEnabled,
        conversionNames: Object.fromEntries(conversionKeys.map((key) => [key, String(data.get(key) ?? "")])),
        ...Object.fromEntries(timings.map(([name]) => [name, number(name)])),
      },
      done: t("saved"),
      onDone: () => {
        if (pageViewsEnabled !== delivery.pageViewsEnabled) setChangedViews(pageViewsEnabled);
      },
      onFailed: setFailure,
    });
  };

  return (
    <Card title={t("title")}>
      <form ref={form} onSubmit={save} noValidate>
        <CardBody className="grid gap-5">
          <p className="text-sm text-support text-pretty">{t("lead")}</p>
          <Field
            label={word("labels.averageOrder", { currency })}
            hint={t("averageOrderHint")}
            error={(errorOf("defaultAovCents") && order.problem) || undefined}
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
          <StageValues
            sealedShare={sealedShare}
            onChange={setSealedShare}
            averageOrderCents={order.cents}
            currency={currency}
            sendsStages={sendsStages}
            invalid={Boolean(errorOf("intentWeights"))}
          />
          {errorOf("intentWeights") && <p className="text-sm text-failed">{errorOf("intentWeights")}</p>}
          <fieldset className="grid gap-3">
            <legend className="font-semibold text-sm pb-2">{t("timing")}</legend>
            {timings.map(([name, words]) => (
              <Field key={name} label={t(words)} hint={t(`${words}Hint`)} error={errorOf(name)}>
                {(control) => (
                  <Input {...control} name={name} defaultValue={delivery[name]} inputMode="numeric" autoComplete="off" maxLength={4} />
                )}
              </Field>
            ))}
          </fieldset>
          <fieldset className="grid gap-3">
            <legend className="font-semibold text-sm pb-2">{t("more")}</legend>
            <Checkbox
              name="signalsEnabled"
              defaultChecked={delivery.signalsEnabled}
              onChange={(event) => setSendsStages(event.target.checked)}
            >
              {t("signals")}
            </Checkbox>
            <SignalRules delivery={delivery} error={errorOf("signalsDailyMax")} />
            <Checkbox name="pageViewsEnabled" defaultChecked={delivery.pageViewsEnabled}>
              {t("pageViews")}
            </Checkbox>
            {site.ociSyncMethod === "api" && <p className="text-xs text-meta text-pretty pl-6">{t("pageViewsByScript")}</p>}
            <p className="text-xs text-meta text-pretty">{t("moreHint")}</p>
          </fieldset>
          <fieldset className="grid gap-3">
            <legend className="font-semibold text-sm pb-2">{t("names")}</legend>
            <p className="text-xs text-meta text-pretty">{t(site.ociSyncMethod === "script" ? "namesHint" : "namesHintApi")}</p>
            {conversionKeys.map((key) => (
              <Field key={key} label={t(`nameKeys.${key}`)} error={key === "seal" ? errorOf("conversionNames") : undefined}>
                {(control) => (
                  <Input
                    {...control}
                    name={key}
                    defaultValue={delivery.conversionNames[key]}
                    maxLength={100}
                    autoComplete="off"
                    spellCheck={false}
                  />
                )}
              </Field>
            ))}
          </fieldset>
          {changedViews !== null && (
            <>
              <Alert tone="retry" title={t("newLine")}>
                {t(changedViews ? "newLineOn" : "newLineOff")}
              </Alert>
              <SecretText value={snippetOfSite(appUrl, site, changedViews)} label={tracker("snippet")} />
            </>
          )}
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
