"use client";

import { CircleCheck, CircleX } from "lucide-react";
import { useTranslations } from "next-intl";
import { CallEventSecret } from "#components/connections/call-event-secret.tsx";
import { useSend } from "#components/forms/use-send.ts";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { TimeAgo } from "#components/ui/time.tsx";
import { callExample, callLanguages } from "#lib/ingest/call-examples.ts";
import type { CallSecretState } from "#lib/ingest/call-secret.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import type { SiteSetup } from "#lib/tenancy/site-setup.ts";
import { CodeBlock } from "./code-block.tsx";
import { Pick } from "./pick.tsx";

interface CallsStepProps {
  site: SiteSummary;
  appUrl: string;
  secret: CallSecretState;
  reports: SiteSetup["callReports"];
  isSkipped: boolean;
  editable: boolean;
}

/** The telephone system: its secret, how a call is signed, and what arrived. A site without one says so. */
export function CallsStep({ site: { siteId, timezone }, appUrl, secret, reports, isSkipped, editable }: CallsStepProps) {
  const t = useTranslations("setup.calls");
  const { send, pending } = useSend();
  const skip = () => send({ method: "PATCH", url: `/api/sites/${siteId}/setup/calls`, body: { skipped: !isSkipped } });
  const switcher = editable && (
    <SubmitButton type="button" size="sm" pending={pending} onClick={skip}>
      {t(isSkipped ? "unskip" : "skip")}
    </SubmitButton>
  );
  if (isSkipped) return <div>{switcher}</div>;
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-60 flex-1 text-sm text-support text-pretty">{t("lead")}</p>
        {switcher}
      </div>
      <CallEventSecret siteId={siteId} timeZone={timezone} editable={editable} {...secret} />
      <Pick label={t("language")} options={callLanguages.map((key) => ({ key, label: t(`languages.${key}`) }))}>
        {(language) => <CodeBlock value={callExample(language, { appUrl, siteId })} label={t("paste")} />}
      </Pick>
      <div className="grid gap-2">
        <h3 className="text-sm font-medium">{t("log")}</h3>
        {reports.length === 0 ? (
          <p className="text-sm text-meta">{t("logEmpty")}</p>
        ) : (
          <ul className="grid gap-1.5 text-sm" aria-live="polite">
            {reports.map(({ result, times, at }) => (
              <li key={`${at}/${result}`} className="flex min-w-0 gap-2">
                {result === "signed" ? (
                  <CircleCheck className="mt-0.5 size-4 flex-none text-completed" />
                ) : (
                  <CircleX className="mt-0.5 size-4 flex-none text-failed" />
                )}
                <span className="min-w-0 flex-1 text-pretty">
                  {t(`results.${result}`)} {times > 1 && t("times", { times })}
                </span>
                <span className="text-meta whitespace-nowrap">
                  <TimeAgo value={at} timeZone={timezone} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}
