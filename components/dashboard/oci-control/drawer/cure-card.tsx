"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { Button } from "#components/ui/button.tsx";
import { RowLink } from "#components/workbench/row-link.tsx";
import { obstacleOf, type RowState, reasonOf, rowState } from "#lib/oci/queue/row-state.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
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
  // Nobody needs the code of what was closed on purpose.
  const code = state === "NOT_SENT" ? "" : codeOf(row);
  return (
    <CureFacts
      tone={tone}
      facts={[
        { name: word("labels.what"), value: shown.line },
        { name: word("labels.who"), value: (tone !== "plain" || reason) && who },
        { name: t(tone === "failed" || tone === "blocked" ? "fix" : "then"), value: shown.next },
        { name: t("code"), value: code && <span className="id block text-xs wrap-anywhere">{code}</span> },
      ]}
    >
      {row.heldBy && (
        <p className="text-sm">
          <RowLink className="link" href={linkToRow(row.heldBy.rowId)} onOpen={() => openRow(row.heldBy?.rowId ?? "")}>
            {t("heldBy")}
          </RowLink>
        </p>
      )}
      <ShowSame row={row} state={state} sameCause={sameCause} />
    </CureFacts>
  );
}

/** The way to all that share the cause. */
function ShowSame({ row, state, sameCause }: { row: QueueRow; state: RowState; sameCause: number }) {
  const t = useTranslations("oci.drawer");
  const { filterBy } = useControl();
  const errorCode = sameCause > 1 && state === "FAILED" ? row.providerErrorCode : null;
  return (
    errorCode && (
      <div>
        <Button tone="ghost" className="-ml-3" onClick={() => filterBy({ status: "FAILED", errorCode })}>
          {t("showSame", { count: sameCause })}
        </Button>
      </div>
    )
  );
}
