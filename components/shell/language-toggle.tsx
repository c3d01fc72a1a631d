"use client";

import { useLocale, useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import { setLocale } from "#lib/i18n/actions.ts";
import { localeNames } from "#lib/i18n/locale.ts";

/** The language in force in two letters; pressing it changes to the other. */
export function LanguageToggle() {
  const t = useTranslations("preferences");
  const locale = useLocale();
  const other = locale === "tr" ? "en" : "tr";
  const code = locale.toUpperCase();
  return (
    <form action={setLocale}>
      <Button
        type="submit"
        name="locale"
        value={other}
        tone="ghost"
        size="sm"
        className="px-1.5"
        aria-label={t("switchLanguage", { code, language: localeNames[other] })}
      >
        {code}
      </Button>
    </form>
  );
}
