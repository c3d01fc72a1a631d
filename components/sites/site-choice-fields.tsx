"use client";

import { useTranslations } from "next-intl";
import { Field, FieldPair } from "#components/ui/field.tsx";
import { Select } from "#components/ui/select.tsx";
import { localeNames, locales } from "#lib/i18n/locale.ts";
import type { TimeZoneGroup } from "#lib/i18n/time-zones.ts";

interface CurrencyChoice {
  code: string;
  label: string;
}

/** Lists that the server writes, so that it and the browser cannot disagree about them. */
export interface SiteChoices {
  usualCurrencies: CurrencyChoice[];
  otherCurrencies: CurrencyChoice[];
  timeZones: TimeZoneGroup[];
}

interface SiteChoiceFieldsProps {
  values: { currency: string; timezone: string; locale: string };
  choices: SiteChoices;
  errorOf: (field: string) => string | undefined;
  onCurrency: (currency: string) => void;
}

export function SiteChoiceFields({ values, choices, errorOf, onCurrency }: SiteChoiceFieldsProps) {
  const t = useTranslations("siteForm");
  const word = useTranslations();
  return (
    <>
      <Field label={word("labels.timezone")} hint={t("timezoneHint")} error={errorOf("timezone")}>
        {(control) => (
          <Select {...control} name="timezone" defaultValue={values.timezone}>
            {choices.timeZones.map(({ region, zones }) => (
              <optgroup key={region} label={region}>
                {zones.map(({ zone, label }) => (
                  <option key={zone} value={zone}>
                    {label}
                  </option>
                ))}
              </optgroup>
            ))}
          </Select>
        )}
      </Field>
      <FieldPair>
        <Field label={word("labels.currency")} hint={t("currencyHint")} error={errorOf("currency")}>
          {(control) => (
            <Select {...control} name="currency" defaultValue={values.currency} onChange={(event) => onCurrency(event.target.value)}>
              {(["usualCurrencies", "otherCurrencies"] as const).map((group) => (
                <optgroup key={group} label={t(group)}>
                  {choices[group].map(({ code, label }) => (
                    <option key={code} value={code}>
                      {label}
                    </option>
                  ))}
                </optgroup>
              ))}
            </Select>
          )}
        </Field>
        <Field label={word("preferences.language")} hint={t("languageHint")} error={errorOf("locale")}>
          {(control) => (
            <Select {...control} name="locale" defaultValue={values.locale}>
              {locales.map((locale) => (
                <option key={locale} value={locale} lang={locale}>
                  {localeNames[locale]}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </FieldPair>
    </>
  );
}
