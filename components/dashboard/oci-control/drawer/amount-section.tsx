"use client";

import { useTranslations } from "next-intl";
import type { Actions } from "#components/dashboard/oci-control/actions/use-actions.tsx";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useWhatHappens } from "#components/dashboard/oci-control/table/what-happens.tsx";
import { useCause } from "#components/delivery/use-cause.ts";
import { WhyButton } from "#components/delivery/why-button.tsx";
import { cn } from "#components/ui/cn.ts";
import type { QueueRow, QueueRowStory } from "#lib/oci/control-shapes.ts";
import type { ViewFilter } from "#lib/oci/control-view.ts";
import { isByHand, obstacleOf, reasonOf, rowState } from "#lib/oci/row-state.ts";
import { ByHandCard } from "./by-hand-card.tsx";
import { CureDeed } from "./cure-deed.tsx";

interface AmountProps {
  row: QueueRow;
  story: QueueRowStory | null;
  /** How many failed for the same reason, this one among them. */
  sameCause: number;
  actions: Actions;
  linkTo: (id: string) => string;
  onOpen: (id: string) => void;
  onFilter: (filter: ViewFilter) => void;
  onChanged: () => void;
}

/** How much, of whom, and what is the matter: What, Who, Fix. */
export function AmountSection({ row, story, sameCause, actions, linkTo, onOpen, onFilter, onChanged }: AmountProps) {
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
        <CureCard row={row} sameCause={sameCause} actions={actions} linkTo={linkTo} onOpen={onOpen} onFilter={onFilter} />
      )}
      <p className="mt-2">
        <WhyButton
          siteId={site.publicId}
          saleId={row.saleId}
          timeZone={site.timezone}
          isCounted={row.verdict === "CONFIRMED"}
          look="link"
          openRowId={row.id}
        />
      </p>
    </section>
  );
}

type CureProps = Pick<AmountProps, "row" | "sameCause" | "actions" | "linkTo" | "onOpen" | "onFilter">;

function CureCard({ row, sameCause, actions, linkTo, onOpen, onFilter }: CureProps) {
  const t = useTranslations("oci.drawer");
  const { site, blocked, isConnected, now } = useControl();
  const { line, next } = useWhatHappens()(row);
  const reason = obstacleOf(row) ?? reasonOf(row);
  const cause = useCause(site.ociSyncMethod)(reason ?? row.verdictReason ?? "");
  const state = rowState(row, blocked, now);
  const refused = row.verdict === "REJECTED";
  const tone =
    state === "FAILED" || state === "STUCK" || refused ? "failed" : state === "BLOCKED" ? "blocked" : state === "RETRY" ? "retry" : null;
  const knowsWho = reason !== null || (refused && row.verdictReason !== null);
  // A verdict's reason says what happened; its cause says what to do.
  const told = refused && row.verdictReason ? { line: `${line}. ${cause.what}`, next: cause.fix } : { line, next };
  const who = state === "BLOCKED" && !isConnected ? t("whoOwner") : knowsWho ? cause.who : t(state === "STUCK" ? "whoStuck" : "whoNobody");
  return (
    <div className={cn("cure-card", tone)}>
      <dl>
        <dt>{t("what")}</dt>
        <dd className="strong">{told.line}</dd>
        {(tone || reason) && (
          <>
            <dt>{t("who")}</dt>
            <dd>{who}</dd>
          </>
        )}
        {told.next && (
          <>
            <dt>{t(tone && tone !== "retry" ? "fix" : "then")}</dt>
            <dd>{told.next}</dd>
          </>
        )}
        <CodeLine row={row} />
      </dl>
      {row.heldBy && <HeldBy rowId={row.heldBy.rowId} linkTo={linkTo} onOpen={onOpen} />}
      {tone && <CureDeed row={row} state={state} cause={cause} sameCause={sameCause} actions={actions} onFilter={onFilter} />}
    </div>
  );
}

/** Google's own words: of the last real attempt, where the row only waits since. */
function CodeLine({ row }: { row: QueueRow }) {
  const t = useTranslations("oci.drawer");
  const isWaiting = row.status === "RETRY";
  const code = isWaiting ? row.attemptErrorCode : row.providerErrorCode;
  const message = isWaiting ? row.attemptError : row.lastError;
  if (!code && !message) return null;
  return (
    <>
      <dt>{t("code")}</dt>
      <dd className="id xs t2">{code && message?.startsWith(code) ? message : [code, message].filter(Boolean).join(": ")}</dd>
    </>
  );
}

/** The way to the retraction that must be made first. */
function HeldBy({ rowId, linkTo, onOpen }: { rowId: string } & Pick<AmountProps, "linkTo" | "onOpen">) {
  const t = useTranslations("oci.drawer");
  return (
    <p className="sm">
      <a
        className="link"
        href={linkTo(rowId)}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab is the reader's wish
          event.preventDefault();
          onOpen(rowId);
        }}
      >
        {t("heldBy")}
      </a>
    </p>
  );
}
