"use client";

import { useTranslations } from "next-intl";
import type { Actions } from "#components/dashboard/oci-control/actions/use-actions.tsx";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useCause } from "#components/dashboard/oci-control/context/use-cause.ts";
import { useWhatHappens } from "#components/dashboard/oci-control/table/what-happens.tsx";
import { cn } from "#components/ui/cn.ts";
import type { QueueRow, QueueRowStory } from "#lib/oci/control-shapes.ts";
import type { ViewFilter } from "#lib/oci/control-view.ts";
import { isByHand, rowState } from "#lib/oci/row-state.ts";
import { ByHandCard } from "./by-hand-card.tsx";
import { CureDeed } from "./cure-deed.tsx";

interface AmountProps {
  row: QueueRow;
  story: QueueRowStory | null;
  /** How many failed for the same reason, this one among them. */
  sameCause: number;
  actions: Actions;
  onFilter: (filter: ViewFilter) => void;
  onChanged: () => void;
}

/** How much, of whom, and what is the matter: What, Who, Fix. */
export function AmountSection({ row, story, sameCause, actions, onFilter, onChanged }: AmountProps) {
  const t = useTranslations("oci");
  const format = useControlFormat();
  const { site } = useControl();
  const facts = [
    row.channel && t(`channels.${row.channel}`),
    row.phoneEnding && `••• ${row.phoneEnding}`,
    row.clickKind,
    t(`kinds.${row.kind}`),
  ];
  const worth = row.kind === "RETRACT" ? (story?.ledger.at(0)?.amountCents ?? 0) : row.valueCents;
  return (
    <section>
      <div className="fig-xl">
        {row.kind === "RETRACT"
          ? t("drawer.takeBack", { money: format.money(worth, row.currency) })
          : format.exactMoney(worth, row.currency)}
      </div>
      <p className="sm t2 mt-0.5">{facts.filter(Boolean).join(" · ")}</p>
      {isByHand(row, site.ociSyncMethod) ? (
        <ByHandCard row={row} onChanged={onChanged} />
      ) : (
        <CureCard row={row} sameCause={sameCause} actions={actions} onFilter={onFilter} />
      )}
    </section>
  );
}

function CureCard({ row, sameCause, actions, onFilter }: Pick<AmountProps, "row" | "sameCause" | "actions" | "onFilter">) {
  const t = useTranslations("oci.drawer");
  const { blocked, now } = useControl();
  const { line, next } = useWhatHappens()(row);
  const cause = useCause()(row.providerErrorCode ?? "");
  const state = rowState(row, blocked, now);
  const refused = row.verdict === "REJECTED";
  const tone =
    state === "FAILED" || state === "STUCK" || refused ? "failed" : state === "BLOCKED" ? "blocked" : state === "RETRY" ? "retry" : null;
  const who = row.providerErrorCode ? cause.who : t(refused ? "whoRefused" : state === "STUCK" ? "whoStuck" : "whoNobody");
  return (
    <div className={cn("cure-card", tone)}>
      <dl>
        <dt>{t("what")}</dt>
        <dd className="strong">{line}</dd>
        {(tone || row.providerErrorCode) && (
          <>
            <dt>{t("who")}</dt>
            <dd>{who}</dd>
          </>
        )}
        {next && (
          <>
            <dt>{t(tone ? "fix" : "then")}</dt>
            <dd>{next}</dd>
          </>
        )}
        {row.providerErrorCode && (
          <>
            <dt>{t("code")}</dt>
            <dd className="id xs t2">
              {[row.providerErrorCode, row.lastError !== row.providerErrorCode && row.lastError].filter(Boolean).join(": ")}
            </dd>
          </>
        )}
      </dl>
      {tone && <CureDeed row={row} state={state} cause={cause} sameCause={sameCause} actions={actions} onFilter={onFilter} />}
    </div>
  );
}
