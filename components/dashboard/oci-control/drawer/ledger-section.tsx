"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { useStateWord } from "#components/contracts/use-state-word.ts";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { asLine } from "#components/delivery/use-cause.ts";
import { leadPath, proofPath, salePath } from "#components/shell/nav-items.ts";
import { Badge } from "#components/ui/badge.tsx";
import { DrawerSection } from "#components/workbench/drawer.tsx";
import { RowLink } from "#components/workbench/row-link.tsx";
import { ledgerWords } from "#lib/contracts/states.ts";
import { isNotSent } from "#lib/oci/queue/row-state.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";

/** Where an amount came from. */
const sources = ["OPERATOR", "PREDICTED", "EXTERNAL"] as const;

/** The tries, the money lines, other rows of the sale, and the proofs. */
export function LedgerSection({ story: { attempts, ledger, siblings, proofs, row } }: { story: QueueRowStory }) {
  const t = useTranslations();
  const kinds = useTranslations("kinds");
  const { site, format, linkToRow, openRow } = useControl();
  const moveOf = useMoveOf();
  const sourceOf = (source: string) => {
    const known = sources.find((each) => each === source);
    return known ? t(`oci.ledger.sources.${known}`) : source;
  };
  return (
    <>
      <Attempts attempts={attempts} />
      <DrawerSection title={t("labels.ledger")}>
        <ul>
          {ledger.map(({ id, kind, amountCents, deltaCents, currency, at, valueSource }) => (
            <Line key={id} end={<LedgerEnd {...{ kind, amountCents, deltaCents, currency, at }} />}>
              <span>{kinds(ledgerWords[kind])}</span>
              <span className="min-w-0 truncate text-xs text-meta">{sourceOf(valueSource)}</span>
            </Line>
          ))}
        </ul>
      </DrawerSection>
      {siblings.length > 0 && (
        <DrawerSection title={t("oci.ledger.siblings")}>
          <ul>
            {siblings.map(({ id, status, kind, updatedAt, ...sibling }) => (
              <Line key={id} end={format.moment(updatedAt)}>
                <Badge state={isNotSent({ status, ...sibling }) ? "NOT_SENT" : status} />
                <RowLink className="link" href={linkToRow(id)} onOpen={() => openRow(id)}>
                  {kinds(kind)}
                </RowLink>
              </Line>
            ))}
          </ul>
        </DrawerSection>
      )}
      <DrawerSection>
        <p className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
          {row.callId && (
            <Link className="link" href={leadPath(site.siteId, row.callId)} prefetch={false}>
              {t("actions.openLead")}
            </Link>
          )}
          <Link className="link" href={salePath(site.siteId, row.saleId)} prefetch={false}>
            {t("actions.openSale")}
          </Link>
        </p>
      </DrawerSection>
      {proofs.length > 0 && (
        <DrawerSection title={t("oci.ledger.proofs")}>
          <ul>
            {proofs.map((proof) => (
              <Line key={proof.id} end={format.moment(proof.at)}>
                <Link className="link" href={proofPath(proof.id)} prefetch={false}>
                  {moveOf(proof)}
                </Link>
              </Line>
            ))}
          </ul>
          <p className="mt-2 text-xs text-meta">{t("oci.ledger.proofsHint", { order: row.orderId })}</p>
        </DrawerSection>
      )}
    </>
  );
}

/** A proof's move as text. A sale that stays sealed was corrected. */
function useMoveOf() {
  const t = useTranslations();
  const stateOf = useStateWord();
  return ({ contract, from, to }: QueueRowStory["proofs"][number]) => {
    if (from === null || (from === to && contract !== "sale")) return stateOf(to);
    return from === to ? t("kinds.corrected") : `${stateOf(from)} → ${stateOf(to)}`;
  };
}

function Line({ end, children }: { end: ReactNode; children: ReactNode }) {
  return (
    <li className="flex flex-wrap items-baseline gap-x-3 border-b border-line-1 py-1.5 text-sm last:border-b-0">
      {children}
      <span className="ml-auto whitespace-nowrap text-support">{end}</span>
    </li>
  );
}

type LedgerLine = QueueRowStory["ledger"][number];

function LedgerEnd({ kind, amountCents, deltaCents, currency, at }: Omit<LedgerLine, "id" | "valueSource" | "by">) {
  const { format } = useControl();
  const change = kind === "SEAL" ? "" : ` (${deltaCents > 0 ? "+" : ""}${format.money(deltaCents, currency)})`;
  return (
    <>
      <span className="font-medium">{format.money(amountCents, currency)}</span>
      {`${change} · ${format.moment(at)}`}
    </>
  );
}

/** Each time the row was handed out: when, how long, what came back, and the request that Google knows it by. */
function Attempts({ attempts }: Pick<QueueRowStory, "attempts">) {
  const t = useTranslations("oci.ledger");
  const word = useTranslations();
  const { format, causeOf } = useControl();
  if (attempts.length === 0) return null;
  const length = (ms: number) => (ms < 1000 ? word("labels.ms", { ms }) : format.length(ms / 1000));
  return (
    <DrawerSection title={t("attempts")}>
      <ul>
        {attempts.map(({ number, startedAt, durationMs, outcome, errorCode, batch }) => {
          // How long Google took; of a script only its answer is known.
          const took = batch ? batch.durationMs : durationMs;
          const facts = [
            errorCode && asLine(causeOf(errorCode).what),
            batch && t("batch", { count: batch.claimed }),
            batch && !batch.isFinished && t("batchOpen"),
            batch?.errorCode && batch.errorCode !== errorCode && t("batchError", { cause: asLine(causeOf(batch.errorCode).what) }),
          ].filter(Boolean);
          return (
            <Line key={`${number}-${startedAt}`} end={format.moment(startedAt) + (took === null ? "" : `, ${length(took)}`)}>
              <span className="font-semibold">{number}</span>
              <Badge state={outcome ?? "PROCESSING"} />
              {(facts.length > 0 || batch?.requestId) && (
                <span className="order-1 w-full min-w-0 text-xs wrap-anywhere text-meta">
                  {facts.join(" · ")}
                  {batch?.requestId && <span className="id block">{t("request", { id: batch.requestId })}</span>}
                </span>
              )}
            </Line>
          );
        })}
      </ul>
    </DrawerSection>
  );
}
