import { cookies, headers } from "next/headers";
import { getRequestConfig } from "next-intl/server";
import { chooseLocale, defaultTimeZone, type Locale, localeCookie } from "./locale.ts";
import type en from "./messages/en.json";

declare module "next-intl" {
  interface AppConfig {
    Locale: Locale;
    Messages: typeof en;
  }
}

/** One file per language, loaded when that language is asked for. Both hold the same keys; a test keeps it so. */
const messages = {
  en: () => import("./messages/en.json"),
  tr: () => import("./messages/tr.json"),
} satisfies Record<Locale, unknown>;

export default getRequestConfig(async () => {
  const [jar, head] = await Promise.all([cookies(), headers()]);
  const locale = chooseLocale(jar.get(localeCookie)?.value, head.get("accept-language"));
  return { locale, messages: (await messages[locale]()).default, timeZone: defaultTimeZone };
});
