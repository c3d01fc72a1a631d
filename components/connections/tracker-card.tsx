"use client";

import { useTranslations } from "next-intl";
import { useSend } from "#components/forms/use-send.ts";
import { Card, CardBody } from "#components/ui/card.tsx";
import { Checkbox } from "#components/ui/checkbox.tsx";
import { Field } from "#components/ui/field.tsx";
import { SecretText } from "#components/ui/secret-text.tsx";
import { Select } from "#components/ui/select.tsx";
import { TimeAgo } from "#components/ui/time.tsx";
import { snippetOfSite } from "#lib/ingest/install-snippet.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";

interface TrackerCardProps {
  site: SiteSummary;
  appUrl: string;
  reportsViews: boolean;
  lastEventAt: string | null;
  editable: boolean;
}

/** The tracker's line for the website, and its privacy settings. */
export function TrackerCard({ site, appUrl, reportsViews, lastEventAt, editable }: TrackerCardProps) {
  const t = useTranslations("tracker");
  const { send, pending } = useSend();
  const { siteId, consentMode, respectsPrivacySignal } = site;
  const save = (change: { consentMode?: string; respectsPrivacySignal?: boolean }) =>
    send({
      method: "PATCH",
      url: `/api/sites/${siteId}/privacy`,
      body: { consentMode, respectsPrivacySignal, ...change },
      done: t("saved"),
    });
  const heard = lastEventAt ? t.rich("heard", { time: () => <TimeAgo value={lastEventAt} timeZone={site.timezone} /> }) : t("silent");
  return (
    <Card title={t("title")} note={heard}>
      <CardBody className="grid gap-5">
        <div className="grid gap-3">
          <p className="text-sm text-support text-pretty">{t("lead")}</p>
          <SecretText value={snippetOfSite(appUrl, site, reportsViews)} label={t("snippet")} />
        </div>
        <Field label={t("consent")} hint={t("consentHint")}>
          {(control) => (
            <Select
              {...control}
              value={consentMode}
              disabled={!editable || pending}
              onChange={(event) => save({ consentMode: event.target.value })}
            >
              <option value="off">{t("consentOff")}</option>
              <option value="required">{t("consentRequired")}</option>
            </Select>
          )}
        </Field>
        <Checkbox
          checked={respectsPrivacySignal}
          disabled={!editable || pending}
          onChange={(event) => save({ respectsPrivacySignal: event.target.checked })}
        >
          {t("signal")}
        </Checkbox>
      </CardBody>
    </Card>
  );
}
