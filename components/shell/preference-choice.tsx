import { useLocale, useTranslations } from "next-intl";
import { Segmented } from "#components/ui/segmented.tsx";
import { setLocale, setTheme } from "#lib/i18n/actions.ts";
import { localeNames, locales } from "#lib/i18n/locale.ts";
import { type Theme, themes } from "#lib/i18n/theme.ts";

/** Chooses the language of the pages. */
export function LanguageChoice() {
  const t = useTranslations("preferences");
  const options = [...locales].reverse().map((locale) => ({ value: locale, label: localeNames[locale], lang: locale }));
  return (
    <form action={setLocale}>
      <Segmented label={t("language")} name="locale" value={useLocale()} options={options} />
    </form>
  );
}

/** Chooses light, dark, or what the device says. */
export function ThemeChoice({ theme }: { theme: Theme }) {
  const t = useTranslations("preferences");
  const options = themes.map((each) => ({ value: each, label: t(each) }));
  return (
    <form action={setTheme}>
      <Segmented label={t("theme")} name="theme" value={theme} options={options} />
    </form>
  );
}
