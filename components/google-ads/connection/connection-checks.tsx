"use client";

import { CircleCheck, CircleX, TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import { Alert } from "#components/ui/alert.tsx";
import { shownCustomerId } from "#lib/delivery/action-name.ts";
import { findingOf } from "#lib/delivery/connection-findings.ts";
import type { ConnectAnswer } from "#lib/delivery/connection-shapes.ts";

type ConnectionTest = ConnectAnswer["test"];
type Check = ConnectionTest["checks"][number];

interface ConnectionChecksProps {
  test: ConnectionTest;
  /** The account that was tested. */
  customerId: string;
  /** What a failed test means here. */
  failed: string;
  /** A field says already what is wrong. */
  isSaid?: boolean;
}

/** What a test found, check by check. */
export function ConnectionChecks({ test, customerId, failed, isSaid = false }: ConnectionChecksProps) {
  const t = useTranslations("googleAds.test");
  const isPartly = test.ok && test.checks.some(({ name, ok }) => name === "ads_api_adjustments" && !ok);
  const refused = test.refusedActions.length;
  const owner = test.account?.conversionCustomerId;
  const { name, currency, timezone } = test.account ?? {};
  const nameOf = (code: string | undefined) => (code === undefined ? undefined : findingOf(code).name);
  /** One cause fails several checks; its sentence is needed once. */
  const saysBefore = ({ name: check, code }: Check) =>
    (isSaid && nameOf(code) === nameOf(test.error?.code)) ||
    test.checks
      .slice(
        0,
        test.checks.findIndex((each) => each.name === check),
      )
      .some((each) => !each.ok && nameOf(each.code) === nameOf(code));
  return (
    <div className="grid gap-3">
      <Alert
        tone={!test.ok ? "failed" : isPartly || refused > 0 ? "retry" : "completed"}
        title={!test.ok ? t("failed") : refused > 0 ? t("refusedActions", { count: refused }) : t(isPartly ? "partly" : "passed")}
      >
        {!test.ok && failed}
        {test.ok && name && t("accountFound", { name, currency: currency ?? "", timezone: timezone ?? "" })}
        {owner && owner !== customerId.replaceAll(/\D/g, "") && ` ${t("otherOwner", { id: shownCustomerId(owner) })}`}
      </Alert>
      <ul className="grid gap-3" aria-label={t("results")}>
        {test.checks.map((check) => (
          <CheckLine key={check.name} check={check} isSaid={saysBefore(check)} />
        ))}
        {test.refusedActions.map((action) => (
          <RefusedLine key={action.conversionName} action={action} />
        ))}
      </ul>
    </div>
  );
}

function CheckLine({ check: { name, ok, isRequired, code }, isSaid }: { check: Check; isSaid: boolean }) {
  const t = useTranslations("googleAds.test");
  const Icon = ok ? CircleCheck : isRequired ? CircleX : TriangleAlert;
  const colour = ok ? "text-completed" : isRequired ? "text-failed" : "text-retry";
  return (
    <li className="text-sm flex gap-2">
      <Icon className={`mt-px ${colour}`} />
      <span className="min-w-0 flex-1 text-pretty">
        {t(`checks.${name}.${ok ? "ok" : "no"}`)}
        {!ok && code && <Why code={code} isSaid={isSaid} />}
      </span>
    </li>
  );
}

/** Another chosen action that Google takes nothing for: which, and why. */
function RefusedLine({ action: { conversionName, code } }: { action: ConnectionTest["refusedActions"][number] }) {
  const t = useTranslations("googleAds.test");
  return (
    <li className="text-sm flex gap-2">
      <TriangleAlert className="mt-px text-retry" />
      <span className="min-w-0 flex-1 text-pretty">
        {t.rich("refusedAction", {
          name: () => (
            <b className="font-medium" data-untranslated>
              {conversionName}
            </b>
          ),
        })}
        <Why code={code} isSaid={false} />
      </span>
    </li>
  );
}

/** Why something does not work and what to do about it, with Google's own code. */
function Why({ code, isSaid }: { code: string; isSaid: boolean }) {
  const t = useTranslations("googleAds.findings");
  const finding = findingOf(code).name;
  return (
    <>
      {!isSaid && (
        <span className="text-support block">
          {t(`${finding}.what`)} {t(`${finding}.fix`)}
        </span>
      )}
      <span className="text-xs text-meta block id" data-untranslated>
        {code}
      </span>
    </>
  );
}
