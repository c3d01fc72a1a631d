"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import type { Cause } from "#components/delivery/use-cause.ts";
import { connectPath, sitePath } from "#components/shell/nav-items.ts";
import { Button, ButtonLink } from "#components/ui/button.tsx";
import { RowLink } from "#components/workbench/row-link.tsx";
import { isManual, obstacleOf, type RowState, reasonOf, rowState } from "#lib/oci/queue/row-state.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import type { QueueAction } from "#lib/oci/queue-types.ts";
import type { SiteId } from "#lib/site.ts";
import { useWhatHappens } from "../table/use-what-happens.ts";
import { CureFacts, type CureTone } from "./cure-facts.tsx";

/** Google's own message; of the last real attempt if the row was only deferred since. */
function codeOf(row: QueueRow): string {
  const isWaiting = row.status === "RETRY";
  const code = isWaiting ? row.attemptErrorCode : row.providerErrorCode;
  const message = isWaiting ? row.attemptError : row.lastError;
  return (code && message?.startsWith(code) ? message : [code, message].filter(Boolean).join(": ")) ?? "";
}

function toneOf(state: RowState, isRefused: boolean): CureTone {
  if (state === "FAILED" || state === "STUCK" || isRefused) return "failed";
  return state === "BLOCKED" ? "blocked" : state === "RETRY" ? "retry" : "plain";
}

/** What is wrong with a row, who can fix it, and how. */
export function CureCard({ row, sameCause }: { row: QueueRow; sameCause: number }) {
  const t = useTranslations("oci.drawer");
  const word = useTranslations();
  const { blocked, isConnected, now, causeOf, linkToRow, openRow } = useControl();
  const { line, next } = useWhatHappens()(row);
  const reason = obstacleOf(row) ?? reasonOf(row);
  const cause = causeOf(reason ?? row.verdictReason ?? "");
  const state = rowState(row, blocked, now);
  const isRefused = row.verdict === "REJECTED";
  const tone = toneOf(state, isRefused);
  const knowsWho = reason !== null || (isRefused && row.verdictReason !== null);
  // A verdict's reason says what happened; its cause says what to do.
  const shown = isRefused && row.verdictReason ? { line: `${line}. ${cause.what}`, next: cause.fix } : { line, next };
  const who = state === "BLOCKED" && !isConnected ? t("whoOwner") : knowsWho ? cause.who : t(state === "STUCK" ? "whoStuck" : "whoNobody");
  const code = codeOf(row);
  return (
    <CureFacts
      tone={tone}
      facts={[
        { name: word("labels.what"), value: shown.line },
        { name: word("labels.who"), value: (tone !== "plain" || reason) && who },
        { name: t(tone === "failed" || tone === "blocked" ? "fix" : "then"), value: shown.next },
        { name: t("code"), value: code && <span className="id block text-xs">{code}</span> },
      ]}
    >
      {row.heldBy && (
        <p className="text-sm">
          <RowLink className="link" href={linkToRow(row.heldBy.rowId)} onOpen={() => openRow(row.heldBy?.rowId ?? "")}>
            {t("heldBy")}
          </RowLink>
        </p>
      )}
      {tone !== "plain" && <CureDeed row={row} state={state} cause={cause} sameCause={sameCause} />}
    </CureFacts>
  );
}

const places: Partial<Record<Cause["cure"], (siteId: SiteId) => string>> = {
  reconnect: connectPath,
  settings: (siteId) => sitePath(siteId, "/settings"),
  actions: (siteId) => `${sitePath(siteId, "/connections/google-ads")}#actions`,
};

interface DeedProps {
  row: QueueRow;
  state: RowState;
  cause: Cause;
  sameCause: number;
}

/** The button that does what "Fix" says, where a button can; and the way to all that share the cause. */
function CureDeed({ row, state, cause, sameCause }: DeedProps) {
  const t = useTranslations();
  const { site, mayAct, actions, filterBy } = useControl();
  // Where an owner fixes it; sending again comes after that, at the foot.
  const place = site.role === "owner" && mayAct ? places[cause.cure] : undefined;
  const byHand = isManual(row, site.ociSyncMethod); // back in the queue it is a person's work again; nothing is sent
  const deed = cause.cure === "reset" || byHand ? "RESET_TO_QUEUED" : "RETRY_SELECTED";
  const may = (action: QueueAction) => mayAct && row.allowedActions.includes(action);
  const canRetry = may(deed) && !place && cause.helps && (state === "FAILED" || state === "RETRY");
  const canFree = may("RESET_TO_QUEUED") && state === "STUCK";
  const errorCode = sameCause > 1 && state === "FAILED" ? row.providerErrorCode : null;
  if (!place && !canRetry && !canFree && !errorCode) return null;
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2">
      {place && (
        <ButtonLink tone="primary" href={place(site.siteId)}>
          {cause.deed}
        </ButtonLink>
      )}
      {canRetry && (
        <Button tone="primary" onClick={() => actions.act(deed, [row])}>
          {byHand ? t("actions.reset") : cause.cure === "reset" ? cause.deed : t("actions.sendAgain")}
        </Button>
      )}
      {canFree && (
        <Button tone="primary" onClick={() => actions.act("RESET_TO_QUEUED", [row])}>
          {t("oci.drawer.freeNow")}
        </Button>
      )}
      {errorCode && (
        <Button tone="ghost" className="first:-ml-3" onClick={() => filterBy({ status: "FAILED", errorCode })}>
          {t("oci.drawer.showSame", { count: sameCause })}
        </Button>
      )}
    </div>
  );
}
