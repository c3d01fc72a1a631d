"use client";

import { useLocale, useTranslations } from "next-intl";
import { Facts } from "#components/ui/facts.tsx";
import { TimeAgo } from "#components/ui/time.tsx";
import { shownCustomerId } from "#lib/delivery/action-name.ts";
import { findingOf } from "#lib/delivery/connection-findings.ts";
import type { ConnectionState } from "#lib/delivery/connection-shapes.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";

/** What is known of a connection. Nothing that opens the account. */
export function ConnectionFacts({ state, timeZone }: { state: ConnectionState; timeZone: string }) {
  const t = useTranslations("googleAds");
  const format = siteFormat({ locale: useLocale(), timeZone });
  const { account, transport, connectedAt, connectedBy, testedAt, testError } = state;
  const ago = (value: string) => () => <TimeAgo value={value} timeZone={timeZone} />;
  const tested = testError
    ? t.rich("account.testFailed", { time: () => format.dateTime(testError.at) })
    : testedAt
      ? t.rich("account.testPassed", { time: ago(testedAt) })
      : t("account.neverTested");
  const shownConnect = (at: string) => (connectedBy ? t.rich("account.connectedBy", { time: ago(at), name: connectedBy }) : ago(at)());
  return (
    <Facts
      facts={[
        account && [t("fields.customer_id.label"), shownCustomerId(account.customerId)],
        account?.loginCustomerId && [t("account.manager"), shownCustomerId(account.loginCustomerId)],
        transport && [t("fields.transport.label"), t(`account.${transport}`)],
        account?.clientIdTail && [t("account.client"), t("account.clientTail", { tail: account.clientIdTail })],
        account?.hasDeveloperToken && [t("account.developerToken"), t("account.hasToken")],
        connectedAt && [t("account.connectedAt"), shownConnect(connectedAt)],
        [
          t("account.tested"),
          <span key="tested" className={testError ? "text-failed" : undefined}>
            {tested}
            {testError && `. ${t(`findings.${findingOf(testError.code).name}.what`)}`}
          </span>,
        ],
      ]}
    />
  );
}
