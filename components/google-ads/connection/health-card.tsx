"use client";

import { useLocale, useTranslations } from "next-intl";
import { Alert } from "#components/ui/alert.tsx";
import { Badge } from "#components/ui/badge.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card, CardBody } from "#components/ui/card.tsx";
import { Facts } from "#components/ui/facts.tsx";
import { TimeAgo } from "#components/ui/time.tsx";
import { findingOf } from "#lib/delivery/connection-findings.ts";
import type { ConnectionState } from "#lib/delivery/connection-shapes.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { causeOf } from "#lib/oci/queue/causes.ts";

interface HealthCardProps {
  state: ConnectionState;
  timeZone: string;
  /** The server's clock when the page was read. */
  now: string;
  /** The way to the form, for people who may use it and have it nowhere else on the page. */
  reconnectPath?: string | undefined;
}

type Health = NonNullable<ConnectionState["health"]>;

/** Whether delivery by API runs, and what it waits for. Every line is what provider_connection says. */
export function HealthCard({ state, timeZone, now, reconnectPath }: HealthCardProps) {
  const t = useTranslations("googleAds.health");
  const format = siteFormat({ locale: useLocale(), timeZone });
  const { health, actions, syncMethod } = state;
  if (!health) return null;
  const ago = (value: string | null | undefined, none: string) => (value ? <TimeAgo value={value} timeZone={timeZone} /> : none);
  const hasQuota = health.quotaUntil !== null && Date.parse(health.quotaUntil) > Date.parse(now);
  const isProbeLater = health.nextProbeAt !== null && Date.parse(health.nextProbeAt) > Date.parse(now);
  const blockedActions = actions.filter(({ blocked }) => blocked);
  return (
    <Card title={t("title")} end={<StateBadge health={health} isIdle={syncMethod === "script"} hasQuota={hasQuota} />}>
      <CardBody className="grid gap-4">
        <Facts
          facts={[
            [t("sending"), <Sending key="sending" health={health} isIdle={syncMethod === "script"} hasQuota={hasQuota} />],
            health.state === "OPEN" && [t("nextProbe"), isProbeLater ? format.dateTime(health.nextProbeAt ?? "") : t("soon")],
            [t("lastSuccess"), ago(health.lastSuccessAt, t("never"))],
            [t("lastFailure"), <LastFailure key="failure" health={health} timeZone={timeZone} />],
            [t("quota"), hasQuota ? t("quotaUntil", { time: format.dateTime(health.quotaUntil ?? "") }) : t("quotaFree")],
          ]}
        />
        {health.blocked && (
          <Blocked
            title={t("blocked", { time: format.dateTime(health.blocked.since) })}
            reconnectPath={reconnectPath}
            {...health.blocked}
          />
        )}
        {blockedActions.map(
          ({ conversionName, blocked }) =>
            blocked && (
              <Blocked
                key={conversionName}
                title={t("blockedAction", { name: conversionName, time: format.dateTime(blocked.since) })}
                {...blocked}
              />
            ),
        )}
      </CardBody>
    </Card>
  );
}

interface HealthProps {
  health: Health;
  isIdle: boolean;
  /** Google's limit is used up: nothing is sent until it is back. */
  hasQuota: boolean;
}

function StateBadge({ health, isIdle, hasQuota }: HealthProps) {
  const t = useTranslations();
  if (health.blocked) return <Badge state="BLOCKED" />;
  if (isIdle) return null;
  if (hasQuota && health.state === "CLOSED") return <Badge state="RETRY">{t("states.waiting")}</Badge>;
  if (health.state === "CLOSED") return <Badge state="COMPLETED">{t("googleAds.health.states.CLOSED")}</Badge>;
  return <Badge state={health.state === "OPEN" ? "RETRY" : "PROCESSING"}>{t(`googleAds.health.badges.${health.state}`)}</Badge>;
}

function Sending({ health: { state, blocked, failureCount }, isIdle, hasQuota }: HealthProps) {
  const t = useTranslations("googleAds.health");
  if (blocked) return t("stateBlocked");
  if (isIdle) return t("idle");
  if (hasQuota && state === "CLOSED") return t("stateQuota");
  return (
    <>
      {t(`states.${state}`)}
      {failureCount > 0 && state === "CLOSED" && `, ${t("failures", { count: failureCount })}`}
    </>
  );
}

/** A refused access stops everything without being a failure of Google's: it has a line of its own below. */
function LastFailure({ health, timeZone }: { health: Health; timeZone: string }) {
  const t = useTranslations("googleAds.health");
  const causes = useTranslations("causes");
  const lastFailureAt = health.lastFailureAt ?? health.blocked?.since;
  const lastFailureCode = health.lastFailureAt ? health.lastFailureCode : null;
  if (!lastFailureAt) return t("noFailure");
  return (
    <>
      <TimeAgo value={lastFailureAt} timeZone={timeZone} />
      {lastFailureCode && (
        <span className="text-xs text-meta block">
          {causes(`${causeOf(lastFailureCode, "api").name}.what`)}{" "}
          <span className="id" data-untranslated>
            {lastFailureCode}
          </span>
        </span>
      )}
    </>
  );
}

interface BlockedProps {
  title: string;
  code: string;
  message: string | null;
  reconnectPath?: string | undefined;
}

/** What is blocked, why, and what ends it. */
function Blocked({ title, code, message, reconnectPath }: BlockedProps) {
  const t = useTranslations("googleAds");
  const finding = findingOf(code).name;
  const reconnect = reconnectPath && (
    <ButtonLink href={reconnectPath} size="sm">
      {t("status.reconnect")}
    </ButtonLink>
  );
  return (
    <Alert tone="blocked" title={`${title}.`} action={reconnect}>
      {t(`findings.${finding}.what`)} {t(`findings.${finding}.fix`)} {t("health.afterFix")}
      <span className="text-xs text-meta block id" data-untranslated>
        {message?.startsWith(code) ? message : [code, message].filter(Boolean).join(": ")}
      </span>
    </Alert>
  );
}
