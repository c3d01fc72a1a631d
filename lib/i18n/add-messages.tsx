"use client";

import { type Locale, NextIntlClientProvider, useMessages } from "next-intl";
import { type ReactNode, useMemo } from "react";
import { mergeMessages } from "./pick-messages.ts";

/** Adds messages to those of the layouts around it. */
export function AddMessages({ locale, messages, children }: { locale: Locale; messages: Record<string, unknown>; children: ReactNode }) {
  const above = useMessages();
  const merged = useMemo(() => mergeMessages(above, messages), [above, messages]);
  return (
    <NextIntlClientProvider locale={locale} messages={merged}>
      {children}
    </NextIntlClientProvider>
  );
}
