"use client";

import { useLocale } from "next-intl";
import { createContext, type ReactNode, useContext } from "react";
import { shortLength, shortMoment } from "#lib/i18n/short-time.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";

export interface ControlSite {
  publicId: string;
  currency: string;
  timezone: string;
  ociSyncMethod: "script" | "api";
  role: "owner" | "operator" | "viewer";
}

interface Control {
  site: ControlSite;
  /** Ticks once a second, so that "2 s ago" stays true; the first value is the server's. */
  now: Date;
  blocked: ReadonlySet<string>;
}

const Context = createContext<Control | null>(null);

export function ControlProvider({ children, ...control }: Control & { children: ReactNode }) {
  return <Context value={control}>{children}</Context>;
}

export function useControl(): Control & { mayAct: boolean } {
  const control = useContext(Context);
  if (!control) throw new Error("This part belongs inside OCI Control.");
  return { ...control, mayAct: control.site.role !== "viewer" };
}

/** Money, moments and lengths as this page writes them: the reader's language, the site's zone. */
export function useControlFormat() {
  const locale = useLocale();
  const { site, now } = useControl();
  const timeZone = site.timezone;
  const money = (cents: number, currency = site.currency) => siteFormat({ locale, timeZone, currency }).money(cents);
  const { number, dateTime } = siteFormat({ locale, timeZone });
  return {
    locale,
    number,
    dateTime,
    money,
    /** Every cent: the one figure that is compared with a bill. */
    exactMoney: (cents: number, currency: string) =>
      new Intl.NumberFormat(locale === "tr" ? "tr-TR" : "en-GB", { style: "currency", currency, currencyDisplay: "narrowSymbol" }).format(
        cents / 100,
      ),
    /** "₺79,650", or "₺79,650 + £120" where two currencies wait. */
    sums: (cents: Record<string, number>) => {
      const parts = Object.entries(cents).map(([currency, value]) => money(value, currency));
      return parts.length > 0 ? parts.join(" + ") : money(0);
    },
    moment: (value: string) => shortMoment({ locale, timeZone }, value, now),
    age: (value: string) => shortLength(locale, (now.getTime() - Date.parse(value)) / 1000),
    length: (seconds: number) => shortLength(locale, seconds),
    percent: (share: number) =>
      new Intl.NumberFormat(locale === "tr" ? "tr-TR" : "en-GB", { style: "percent", maximumFractionDigits: 0 }).format(share),
  };
}
