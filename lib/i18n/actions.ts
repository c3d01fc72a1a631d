"use server";

import { cookies } from "next/headers";
import { localeCookie, parseLocale } from "./locale.ts";
import { parseTheme, themeCookie } from "./theme.ts";

/** Preferences carry no secret and last a year; Lax keeps them on links that arrive from an e-mail. */
const preference = { path: "/", sameSite: "lax", maxAge: 365 * 24 * 60 * 60 } as const;

/** Stores the reader's language. Works as a plain form, without JavaScript. */
export async function setLocale(form: FormData): Promise<void> {
  const locale = parseLocale(form.get("locale"));
  if (locale) (await cookies()).set(localeCookie, locale, preference);
}

/** Stores light or dark; "system" forgets the choice. */
export async function setTheme(form: FormData): Promise<void> {
  const theme = parseTheme(form.get("theme"));
  const jar = await cookies();
  if (theme === "system") jar.delete(themeCookie);
  else jar.set(themeCookie, theme, preference);
}
