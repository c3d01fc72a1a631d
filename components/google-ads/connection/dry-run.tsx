"use client";

import { FlaskConical } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import { useCause } from "#components/delivery/use-cause.ts";
import { sendJson } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Field } from "#components/ui/field.tsx";
import { Select } from "#components/ui/select.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { findingOf } from "#lib/delivery/connection-findings.ts";
import { type DryRunAnswer, dryRunAnswer } from "#lib/delivery/connection-shapes.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import type { SiteId } from "#lib/site.ts";

export type WaitingRow = Pick<QueueRow, "id" | "kind" | "orderId" | "valueCents" | "currency" | "conversionTime">;

interface DryRunProps {
  siteId: SiteId;
  rows: WaitingRow[];
  timeZone: string;
}

type Outcome = { row: WaitingRow; answer: DryRunAnswer } | { failed: string };

/** Asks Google about a conversion that waits, without sending it. */
export function DryRun({ siteId, rows, timeZone }: DryRunProps) {
  const t = useTranslations("googleAds.dryRun");
  const kinds = useTranslations("kinds");
  const errorText = useErrorText();
  const locale = useLocale();
  const [chosen, setChosen] = useState(rows[0]?.id ?? "");
  const [pending, setPending] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const format = (row: WaitingRow) => siteFormat({ locale, timeZone, currency: row.currency });
  const row = rows.find(({ id }) => id === chosen) ?? rows[0];

  async function ask(): Promise<void> {
    if (!row) return;
    setPending(true);
    setOutcome(null);
    const sent = await sendJson("POST", `/api/sites/${siteId}/google-ads/dry-run`, { id: row.id });
    setPending(false);
    const answer = sent.ok ? dryRunAnswer.safeParse(sent.value).data : undefined;
    if (answer) setOutcome({ row, answer });
    else setOutcome({ failed: !sent.ok && sent.code === "NOT_FOUND" ? t("gone") : errorText(sent.ok ? "INTERNAL" : sent.code) });
  }

  return (
    <Card title={t("title")}>
      {row ? (
        <>
          <CardBody className="grid gap-4 max-w-[640px]">
            <p className="text-sm text-support text-pretty">{t("lead")}</p>
            <Field label={t("row")}>
              {(control) => (
                <Select {...control} value={row.id} onChange={(event) => setChosen(event.target.value)}>
                  {rows.map((each) => (
                    <option key={each.id} value={each.id}>
                      {t("option", {
                        kind: kinds(each.kind),
                        money: format(each).money(each.valueCents),
                        time: format(each).dateTime(each.conversionTime),
                        order: each.orderId,
                      })}
                    </option>
                  ))}
                </Select>
              )}
            </Field>
            <div aria-live="polite">
              {outcome && ("failed" in outcome ? <Alert tone="failed">{outcome.failed}</Alert> : <GoogleAnswer {...outcome} />)}
            </div>
          </CardBody>
          <CardFoot>
            <SubmitButton type="button" pending={pending} onClick={ask}>
              {t("ask")}
            </SubmitButton>
          </CardFoot>
        </>
      ) : (
        <EmptyState icon={FlaskConical} title={t("none")}>
          {t("noneNext")}
        </EmptyState>
      )}
    </Card>
  );
}

/** Google's answer: taken, or what is wrong, which field, and Google's own message below. */
function GoogleAnswer({ row, answer }: { row: WaitingRow; answer: DryRunAnswer }) {
  const t = useTranslations("googleAds");
  const locale = useLocale();
  const causeOf = useCause("api");
  const { ok, transport, code, field, message } = answer;
  if (ok) {
    const money = siteFormat({ locale, timeZone: "UTC", currency: row.currency }).money(row.valueCents);
    return (
      <Alert tone="completed" title={t("dryRun.accepted")}>
        {t("dryRun.acceptedBody", { money, order: row.orderId, api: t(`account.${transport}`) })}
      </Alert>
    );
  }
  const finding = findingOf(code ?? "UNKNOWN").name;
  const cause = causeOf(code ?? "UNKNOWN");
  const words = finding === "unknown" ? `${cause.what} ${cause.fix}` : `${t(`findings.${finding}.what`)} ${t(`findings.${finding}.fix`)}`;
  return (
    <Alert tone="retry" title={t("dryRun.refused")}>
      {words}
      {field && (
        <span className="text-xs block">
          {t.rich("dryRun.field", {
            name: () => (
              <span className="id" data-untranslated>
                {field}
              </span>
            ),
          })}
        </span>
      )}
      {(message ?? code) && (
        <span className="text-xs text-meta block id" data-untranslated>
          {message ?? code}
        </span>
      )}
    </Alert>
  );
}
