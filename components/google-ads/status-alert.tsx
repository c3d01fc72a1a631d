"use client";

import { useLocale, useTranslations } from "next-intl";
import { connectPath, sitePath } from "#components/shell/nav-items.ts";
import { Alert } from "#components/ui/alert.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { findingOf } from "#lib/delivery/connection-findings.ts";
import type { ConnectionStatus } from "#lib/delivery/connection-status.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { SiteId } from "#lib/site.ts";

interface StatusAlertProps {
  siteId: SiteId;
  status: ConnectionStatus;
  timeZone: string;
  /** Whether the reader may do something about it. */
  mayFix: boolean;
}

/** One sentence on how the connection is doing, what Google said, and the way to the fix. */
export function StatusAlert({
  siteId,
  status: { code, tone, errorCode, at = "", conversionName = "" },
  timeZone,
  mayFix,
}: StatusAlertProps) {
  const t = useTranslations("googleAds");
  const format = siteFormat({ locale: useLocale(), timeZone });
  const words = { time: at && format.dateTime(at), name: conversionName };
  const finding = errorCode && findingOf(errorCode).name;
  return (
    <Alert tone={tone} title={t(`status.${code}.title`, words)} action={mayFix && <FixLink siteId={siteId} code={code} />}>
      {finding && `${t(`findings.${finding}.what`)} ${t(`findings.${finding}.fix`)} `}
      {t(`status.${code}.next`, words)}
      {tone === "blocked" && !mayFix && ` ${t("ownerFixes")}`}
    </Alert>
  );
}

function FixLink({ siteId, code }: { siteId: SiteId; code: ConnectionStatus["code"] }) {
  const t = useTranslations("googleAds.status");
  const word = useTranslations();
  const page = sitePath(siteId, "/connections/google-ads");
  if (code === "NOT_CONNECTED" || code === "BLOCKED")
    return (
      <ButtonLink href={connectPath(siteId)} tone="primary" size="sm">
        {t(code === "BLOCKED" ? "reconnect" : "connect")}
      </ButtonLink>
    );
  if (code === "NO_ACTION" || code === "ACTION_BLOCKED")
    return (
      <ButtonLink href={`${page}#actions`} size="sm">
        {word("actions.actions")}
      </ButtonLink>
    );
  return null;
}
