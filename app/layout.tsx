import "./globals.css";
import type { Metadata, Viewport } from "next";
import { cookies } from "next/headers";
import { NextIntlClientProvider } from "next-intl";
import { getLocale, getTranslations } from "next-intl/server";
import type { ReactNode } from "react";
import { brandName } from "#components/ui/brand.tsx";
import { env } from "#lib/env.ts";
import { parseTheme, themeCookie } from "#lib/i18n/theme.ts";
import { messagesOf } from "#lib/i18n/with-messages.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("meta");
  return {
    title: { template: `%s · ${brandName}`, default: brandName },
    description: t("description"),
    metadataBase: new URL(env().APP_URL),
    openGraph: { type: "website", siteName: brandName, title: brandName, description: t("description") },
    robots: { index: false, follow: false },
    formatDetection: { telephone: false, email: false, address: false },
  };
}

export const viewport: Viewport = { width: "device-width", initialScale: 1, viewportFit: "cover", colorScheme: "light dark" };

/** Language and theme are known to the server, so the first paint is already right and needs no script. */
export default async function RootLayout({ children }: { children: ReactNode }) {
  const [locale, jar, messages] = await Promise.all([getLocale(), cookies(), messagesOf("layout")]);
  const theme = parseTheme(jar.get(themeCookie)?.value);
  return (
    <html lang={locale} data-theme={theme === "system" ? undefined : theme}>
      <body>
        <NextIntlClientProvider messages={messages}>{children}</NextIntlClientProvider>
      </body>
    </html>
  );
}
