"use client";

import { useTranslations } from "next-intl";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { asLine, useCause } from "#components/dashboard/oci-control/context/use-cause.ts";
import type { QueueRow } from "#lib/oci/control-shapes.ts";
import { isByHand, rowState } from "#lib/oci/row-state.ts";

/** A row in two lines: what is happening to it, and what comes next. */
export function useWhatHappens(): (row: QueueRow) => { line: string; next: string; bad: boolean } {
  const t = useTranslations("oci.happens");
  const format = useControlFormat();
  const { blocked, now, site } = useControl();
  const causeOf = useCause();
  const isLater = (moment: string | null) => moment !== null && Date.parse(moment) > now.getTime();
  return (row) => {
    const cause = row.providerErrorCode ? causeOf(row.providerErrorCode) : null;
    if (isByHand(row, site.ociSyncMethod))
      return { line: t("byHand"), next: t(row.kind === "RETRACT" ? "retractNext" : "restateNext"), bad: false };
    switch (rowState(row, blocked, now)) {
      case "BLOCKED":
        return { line: cause ? asLine(cause.what) : t("blocked"), next: cause?.fix ?? t("blockedNext"), bad: false };
      case "STUCK":
        return { line: t("stuck", { age: format.age(row.claimedAt ?? row.updatedAt) }), next: t("stuckNext"), bad: true };
      case "PROCESSING":
        return { line: t("processing", { time: format.moment(row.claimedAt ?? row.updatedAt) }), next: t("processingNext"), bad: false };
      case "QUEUED":
        if (isLater(row.notBefore)) return { line: t("held", { time: format.moment(row.notBefore) }), next: t("heldNext"), bad: false };
        return { line: t("ready"), next: t(site.ociSyncMethod === "script" ? "readyScript" : "readyWorker"), bad: false };
      case "RETRY": {
        const when = isLater(row.nextRetryAt) ? t("again", { time: format.moment(row.nextRetryAt ?? "") }) : t("againSoon");
        return { line: cause ? asLine(cause.what) : t("retry"), next: when, bad: false };
      }
      case "CONFIRMED":
        return { line: t("confirmed"), next: t("confirmedNext"), bad: false };
      case "COMPLETED":
        if (row.verdict === "REJECTED") return { line: t("refused"), next: t("refusedNext"), bad: true };
        if (row.verdict === "DUPLICATE") return { line: t("duplicate"), next: t("duplicateNext"), bad: false };
        return { line: t("handed", { time: format.moment(row.uploadedAt ?? row.updatedAt) }), next: t("handedNext"), bad: false };
      case "FAILED":
        return { line: cause ? asLine(cause.what) : t("failed"), next: cause?.fix ?? "", bad: false };
    }
  };
}
