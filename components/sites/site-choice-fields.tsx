"use client";

import { useTranslations } from "next-intl";
import { Field } from "#components/ui/field.tsx";
import { Select } from "#components/ui/select.tsx";
import { localeNames, locales } from "#lib/i18n/locale.ts";
import type { TimeZoneGroup } from "#lib/i18n/time-zones.ts";

/** Lists that the server writes, so that it and the browser cannot disagree about them. */
export interface SiteChoices {
  currencies: { code: string; label: string }[];
  timeZones: TimeZoneGroup[];
}

interface SiteChoiceFieldsProps {
  values: { currency: string; timezone: string; locale: string };
  choices: SiteChoices;
  errorOf: (field: string) => string | undefined;
}

export function SiteChoiceFields({ values, choices, errorOf }: SiteChoiceFieldsProps) {
  const t = useTranslations("siteForm");
  return (
    <>
      <Field label={t("timezone")} hint={t("timezoneHint")} error={errorOf("timezone")}>
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
      <div className="field-pair">
        <Field label={t("currency")} hint={t("currencyHint")} error={errorOf("currency")}>
          {(control) => (
            <Select {...control} name="currency" defaultValue={values.currency}>
              {choices.currencies.map(({ code, label }) => (
                <option key={code} value={code}>
                  {label}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={t("language")} hint={t("languageHint")} error={errorOf("locale")}>
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
      </div>
    </>
  );
}
