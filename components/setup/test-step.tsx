"use client";

import { useTranslations } from "next-intl";
import { useSend } from "#components/forms/use-send.ts";
import { Alert } from "#components/ui/alert.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { TimeAgo } from "#components/ui/time.tsx";
import { findingOf } from "#lib/delivery/connection-findings.ts";
import { shortOrder } from "#lib/oci/short-order.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import type { SiteSetup } from "#lib/tenancy/site-setup.ts";

const notProved = ["click", "counted", "value"] as const;
const scriptProblems = ["NO_CONVERSION_ACTION", "NOT_FROM_CLICKS", "ACTION_DISABLED", "ONE_PER_CLICK", "NO_CLICK"] as const;

interface TestStepProps {
  site: SiteSummary;
  lastTest: SiteSetup["lastTest"];
  editable: boolean;
}

/** A conversion that never happened, on the real way up to the last step: what became of it, and what it does not prove. */
export function TestStep({ site: { siteId, ociSyncMethod, timezone }, lastTest, editable }: TestStepProps) {
  const t = useTranslations("setup.test");
  const { send, pending } = useSend();
  const isApi = ociSyncMethod === "api";
  const run = () => send({ method: "POST", url: `/api/sites/${siteId}/google-ads/test-conversion`, body: {} });
  return (
    <>
      <p className="text-sm text-support text-pretty">{t(isApi ? "leadApi" : "leadScript")}</p>
      {isApi && editable && (
        <div>
          <SubmitButton type="button" tone="primary" pending={pending} onClick={run}>
            {t("run")}
          </SubmitButton>
        </div>
      )}
      {lastTest && (
        <Alert tone={lastTest.problem ? "failed" : "completed"} title={t(lastTest.problem ? "refused" : "passed")}>
          {lastTest.problem && <Problem problem={lastTest.problem} field={lastTest.field} />}{" "}
          <span className="text-meta">
            {t.rich("asked", {
              order: () => (
                <span className="id" data-untranslated>
                  {shortOrder(lastTest.orderId)}
                </span>
              ),
              time: () => <TimeAgo value={lastTest.at} timeZone={timezone} />,
            })}
          </span>
        </Alert>
      )}
      <div className="text-sm">
        <h3 className="text-sm font-medium">{t("notProved")}</h3>
        <ul className="mt-1 grid list-disc gap-1 pl-5 text-support">
          {notProved.map((key) => (
            <li key={key} className="text-pretty">
              {t(`notProvedBy.${key}`)}
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}

function Problem({ problem, field }: { problem: string; field: string | null }) {
  const t = useTranslations("setup.test");
  const findings = useTranslations("googleAds.findings");
  const known = scriptProblems.find((each) => each === problem);
  if (known) return t(`problems.${known}`, { name: field ?? "" });
  const finding = findingOf(problem).name;
  if (finding !== "unknown") return `${findings(`${finding}.what`)} ${findings(`${finding}.fix`)}`;
  return (
    <>
      {t("problemOther")}{" "}
      <span className="id" data-untranslated>
        {[problem, field].filter(Boolean).join(", ")}
      </span>
    </>
  );
}
