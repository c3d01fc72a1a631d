"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { asLine } from "#components/delivery/use-cause.ts";
import { deferralOf, isByHand, obstacleOf, reasonOf, rowState } from "#lib/oci/queue/row-state.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";

interface Happening {
  line: string;
  next: string;
  bad: boolean;
}
const say = (line: string, next: string, bad = false): Happening => ({ line, next, bad });

/** A row in two lines: what is happening to it, and what comes next. */
export function useWhatHappens(): (row: QueueRow) => Happening {
  const t = useTranslations("oci.happens");
  const word = useTranslations();
  const { blocked, isConnected, now, site, format, causeOf } = useControl();
  const isLater = (moment: string | null) => moment !== null && Date.parse(moment) > now.getTime();
  /** What a waiting row waits for besides its time. */
  const waitsFor = (row: QueueRow) => {
    if (!row.waitsFor || (row.waitsFor === "ACTION" && !isConnected)) return null;
    const time = row.waitsUntil ? format.moment(row.waitsUntil) : "";
    return say(t(`waitsFor.${row.waitsFor}`), t(`waitsForNext.${row.waitsFor}`, { time }));
  };
  /** The reason is what the last real attempt met; the wait may be a deferral that came since. */
  const retry = (row: QueueRow) => {
    const reason = reasonOf(row);
    const deferral = deferralOf(row);
    const time = isLater(row.nextRetryAt) ? format.moment(row.nextRetryAt ?? "") : null;
    const kind = deferrals.find((known) => known === deferral);
    const obstacle = obstacleOf(row);
    if (obstacle) return say(asLine(causeOf(obstacle).what), causeOf(obstacle).fix);
    const wait = kind
      ? t(time ? `deferred.${kind}` : `deferredSoon.${kind}`, { time: time ?? "" })
      : time
        ? t("again", { time })
        : t("againSoon");
    const line = reason ? asLine(causeOf(reason).what) : deferral ? asLine(causeOf(deferral).what) : t("retry");
    return say(line, wait);
  };
  const ready = () => say(t("ready"), t(site.ociSyncMethod === "script" ? "readyScript" : "readyWorker"));
  return (row) => {
    const cause = row.providerErrorCode ? causeOf(row.providerErrorCode) : null;
    if (isByHand(row, site.ociSyncMethod)) return say(t("byHand"), t(row.kind === "RETRACT" ? "retractNext" : "restateNext"));
    switch (rowState(row, blocked, now)) {
      case "BLOCKED":
        if (!isConnected) return say(t("notConnected"), t("notConnectedNext"));
        return say(cause ? asLine(cause.what) : t("blocked"), cause?.fix ?? t("blockedNext"));
      case "STUCK":
        return say(t("stuck", { age: format.age(row.claimedAt ?? row.updatedAt) }), t("stuckNext"), true);
      case "PROCESSING":
        return say(t("processing", { time: format.moment(row.claimedAt ?? row.updatedAt) }), word("actions.none"));
      case "QUEUED":
        // The server's clock may be a moment ahead of this one.
        if (row.waitsFor !== "PAUSE" && Date.parse(row.notBefore) > now.getTime() + 60_000)
          return say(t("held", { time: format.moment(row.notBefore) }), t("heldNext"));
        return waitsFor(row) ?? ready();
      case "RETRY":
        return waitsFor(row) ?? retry(row);
      case "CONFIRMED":
        if (row.takeBack === "DONE") return say(t("takenBack"), t("takenBackNext"));
        if (row.takeBack) return say(t("takingBack"), t("takingBackNext"));
        return say(t("confirmed"), t("confirmedNext"));
      case "COMPLETED":
        return completed(row);
      case "NOT_SENT":
        return say(cause ? asLine(cause.what) : word("states.NOT_SENT"), word("actions.none"));
      case "FAILED":
        return say(cause ? asLine(cause.what) : word("states.FAILED"), cause?.fix ?? "");
    }
  };

  function completed(row: QueueRow) {
    switch (row.verdict) {
      case "REJECTED": {
        const cause = row.verdictReason ? causeOf(row.verdictReason) : null;
        return say(t("refused"), cause ? asLine(cause.what) : t("refusedNext"), true);
      }
      case "DUPLICATE":
        return say(t("duplicate"), t("duplicateNext"));
      case "UNKNOWN":
        return say(t("unknownVerdict"), t("unknownVerdictNext"));
      default: {
        const handed = t("handed", { time: format.moment(row.uploadedAt ?? row.updatedAt) });
        // No verdict comes for a script's or a person's: the drawer says so once.
        if (row.transport !== "data_manager" && row.transport !== "ads_api") return say(handed, word("actions.none"));
        return say(handed, t(row.transport === "data_manager" ? "handedNext" : "handedAdsApi"));
      }
    }
  }
}

/** Deferrals that say more than "later". */
const deferrals = ["CIRCUIT_OPEN", "CONCURRENCY_LIMIT"] as const;
