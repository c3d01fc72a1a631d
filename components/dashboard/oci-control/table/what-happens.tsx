"use client";

import { useTranslations } from "next-intl";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { asLine, useCause } from "#components/delivery/use-cause.ts";
import type { QueueRow } from "#lib/oci/control-shapes.ts";
import { deferralOf, isByHand, obstacleOf, reasonOf, rowState } from "#lib/oci/row-state.ts";

/** A row in two lines: what is happening to it, and what comes next. */
export function useWhatHappens(): (row: QueueRow) => { line: string; next: string; bad: boolean } {
  const t = useTranslations("oci.happens");
  const format = useControlFormat();
  const { blocked, isConnected, now, site } = useControl();
  const causeOf = useCause(site.ociSyncMethod);
  const isLater = (moment: string | null) => moment !== null && Date.parse(moment) > now.getTime();
  /** What a waiting row waits for besides its time. */
  const waitsFor = (row: QueueRow) => {
    if (!row.waitsFor || (row.waitsFor === "ACTION" && !isConnected)) return null;
    const time = row.waitsUntil ? format.moment(row.waitsUntil) : "";
    return { line: t(`waitsFor.${row.waitsFor}`), next: t(`waitsForNext.${row.waitsFor}`, { time }), bad: false };
  };
  /** The reason is what the last real attempt met; the wait may be a deferral that came since. */
  const retry = (row: QueueRow) => {
    const reason = reasonOf(row);
    const deferral = deferralOf(row);
    const time = isLater(row.nextRetryAt) ? format.moment(row.nextRetryAt ?? "") : null;
    const kind = deferrals.find((known) => known === deferral);
    const obstacle = obstacleOf(row);
    if (obstacle) return { line: asLine(causeOf(obstacle).what), next: causeOf(obstacle).fix, bad: false };
    const wait = kind
      ? t(time ? `deferred.${kind}` : `deferredSoon.${kind}`, { time: time ?? "" })
      : time
        ? t("again", { time })
        : t("againSoon");
    const line = reason ? asLine(causeOf(reason).what) : deferral ? asLine(causeOf(deferral).what) : t("retry");
    return { line, next: wait, bad: false };
  };
  const ready = () => ({ line: t("ready"), next: t(site.ociSyncMethod === "script" ? "readyScript" : "readyWorker"), bad: false });
  return (row) => {
    const cause = row.providerErrorCode ? causeOf(row.providerErrorCode) : null;
    if (isByHand(row, site.ociSyncMethod))
      return { line: t("byHand"), next: t(row.kind === "RETRACT" ? "retractNext" : "restateNext"), bad: false };
    switch (rowState(row, blocked, now)) {
      case "BLOCKED":
        if (!isConnected) return { line: t("notConnected"), next: t("notConnectedNext"), bad: false };
        return { line: cause ? asLine(cause.what) : t("blocked"), next: cause?.fix ?? t("blockedNext"), bad: false };
      case "STUCK":
        return { line: t("stuck", { age: format.age(row.claimedAt ?? row.updatedAt) }), next: t("stuckNext"), bad: true };
      case "PROCESSING":
        return { line: t("processing", { time: format.moment(row.claimedAt ?? row.updatedAt) }), next: t("processingNext"), bad: false };
      case "QUEUED":
        // The server's clock may be a moment ahead of this one.
        if (Date.parse(row.notBefore) > now.getTime() + 60_000)
          return { line: t("held", { time: format.moment(row.notBefore) }), next: t("heldNext"), bad: false };
        return waitsFor(row) ?? ready();
      case "RETRY":
        return waitsFor(row) ?? retry(row);
      case "CONFIRMED":
        if (row.takeBack === "DONE") return { line: t("takenBack"), next: t("takenBackNext"), bad: false };
        if (row.takeBack) return { line: t("takingBack"), next: t("takingBackNext"), bad: false };
        return { line: t("confirmed"), next: t("confirmedNext"), bad: false };
      case "COMPLETED":
        return completed(row);
      case "FAILED":
        return { line: cause ? asLine(cause.what) : t("failed"), next: cause?.fix ?? "", bad: false };
    }
  };

  function completed(row: QueueRow) {
    switch (row.verdict) {
      case "REJECTED": {
        const cause = row.verdictReason ? causeOf(row.verdictReason) : null;
        return { line: t("refused"), next: cause ? asLine(cause.what) : t("refusedNext"), bad: true };
      }
      case "DUPLICATE":
        return { line: t("duplicate"), next: t("duplicateNext"), bad: false };
      case "UNKNOWN":
        return { line: t("unknownVerdict"), next: t("unknownVerdictNext"), bad: false };
      default: {
        const next = row.transport === "data_manager" ? "handedNext" : row.transport === "ads_api" ? "handedAdsApi" : "handedNoVerdict";
        return { line: t("handed", { time: format.moment(row.uploadedAt ?? row.updatedAt) }), next: t(next), bad: false };
      }
    }
  }
}

/** Deferrals that say more than "later". */
const deferrals = ["CIRCUIT_OPEN", "CONCURRENCY_LIMIT"] as const;
