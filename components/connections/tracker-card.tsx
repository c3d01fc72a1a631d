"use client";

import { CircleCheck } from "lucide-react";
import { useTranslations } from "next-intl";
import { useSend } from "#components/forms/use-send.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Card, CardBody } from "#components/ui/card.tsx";
import { Checkbox } from "#components/ui/checkbox.tsx";
import { SecretText } from "#components/ui/secret-text.tsx";
import { TimeAgo } from "#components/ui/time.tsx";
import { snippetOfSite } from "#lib/ingest/install-snippet.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import type { SiteSetup } from "#lib/tenancy/site-setup.ts";
import { ConsentSwitch } from "./consent-switch.tsx";
import { RefusedHost } from "./refused-host.tsx";

interface TrackerCardProps {
  site: SiteSummary;
  appUrl: string;
  reportsViews: boolean;
  lastEventAt: string | null;
  setup: SiteSetup;
  editable: boolean;
}

/** The tracker's line for the website, and its privacy settings. */
export function TrackerCard({ site, appUrl, reportsViews, lastEventAt, setup, editable }: TrackerCardProps) {
  const t = useTranslations("tracker");
  const { send, pending } = useSend();
  const { siteId, consentMode, respectsPrivacySignal } = site;
  const save = (isRespected: boolean) =>
    send({
      method: "PATCH",
      url: `/api/sites/${siteId}/privacy`,
      body: { consentMode, respectsPrivacySignal: isRespected },
      done: t("saved"),
    });
  const { refusedHost } = setup;
  const consentSeenAt = setup.steps.find(({ step }) => step === "consent")?.at;
  const heard = lastEventAt ? t.rich("heard", { time: () => <TimeAgo value={lastEventAt} timeZone={site.timezone} /> }) : t("silent");
  return (
    <Card title={t("title")} note={heard}>
      <CardBody className="grid gap-5">
        <div className="grid gap-3">
          {refusedHost && <RefusedHost siteId={siteId} refused={refusedHost} editable={editable} />}
          {consentMode === "required" && !consentSeenAt && (
            <Alert tone="retry" title={t("noConsentYet")}>
              {t("noConsentNext")}
            </Alert>
          )}
          <p className="text-sm text-support text-pretty">{t("lead")}</p>
          <SecretText value={snippetOfSite(appUrl, site, reportsViews)} label={t("snippet")} />
          {consentMode === "required" && consentSeenAt && (
            <p className="flex items-center gap-2 text-sm text-completed">
              <CircleCheck className="size-4 flex-none" />
              {t.rich("consentSeen", { time: () => <TimeAgo value={consentSeenAt} timeZone={site.timezone} /> })}
            </p>
          )}
        </div>
        <ConsentSwitch site={site} disabled={!editable || pending} />
        <Checkbox checked={respectsPrivacySignal} disabled={!editable || pending} onChange={(event) => save(event.target.checked)}>
          {t("signal")}
        </Checkbox>
      </CardBody>
    </Card>
  );
}
