"use client";

import { useLocale } from "next-intl";
import { useEffect, useState } from "react";
import { siteFormat } from "#lib/i18n/site-format.ts";

interface TimeProps {
  value: string;
  timeZone: string;
}

/** A date in the site's zone; the exact minute is its title. */
export function DateText({ value, timeZone }: TimeProps) {
  const format = siteFormat({ locale: useLocale(), timeZone });
  return (
    <time dateTime={value} title={format.dateTime(value)}>
      {format.date(value)}
    </time>
  );
}

const refreshMs = 60_000;

/** "5 minutes ago", kept true while the page is open. */
export function TimeAgo({ value, timeZone }: TimeProps) {
  const format = siteFormat({ locale: useLocale(), timeZone });
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), refreshMs);
    return () => clearInterval(timer);
  }, []);
  // The server's clock and the reader's may stand on two sides of a minute; that difference is expected.
  return (
    <time dateTime={value} title={format.dateTime(value)} suppressHydrationWarning>
      {format.ago(value, now)}
    </time>
  );
}
