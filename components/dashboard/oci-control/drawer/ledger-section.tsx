"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Badge } from "#components/ui/badge.tsx";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";

/** Where an amount came from. */
const sources = ["OPERATOR", "PREDICTED", "EXTERNAL"] as const;

interface LedgerProps {
  story: QueueRowStory;
  linkTo: (id: string) => string;
  onOpen: (id: string) => void;
}

/** The money lines, other rows of the sale, and the proofs. */
export function LedgerSection({ story: { ledger, siblings, proofs, row }, linkTo, onOpen }: LedgerProps) {
  const t = useTranslations("oci.ledger");
  const format = useControlFormat();
  const states = useTranslations("activity.states");
  const stateOf = (state: string) => (states.has(state as never) ? states(state as never) : state); // a contract may name more than the screens know
  const sourceOf = (source: string) => {
    const known = sources.find((each) => each === source);
    return known ? t(`sources.${known}`) : source;
  };
  /** A sale that stays sealed was corrected. */
  const moveOf = ({ contract, from, to }: QueueRowStory["proofs"][number]) => {
    if (from === null || (from === to && contract !== "sale")) return stateOf(to);
    return from === to ? t("kinds.CORRECT") : `${stateOf(from)} → ${stateOf(to)}`;
  };
  return (
    <>
      <section>
        <h3 className="h2">{t("title")}</h3>
        <ul className="lines">
          {ledger.map(({ id, kind, amountCents, deltaCents, currency, at, valueSource }) => (
            <li key={id}>
              <span>{t(`kinds.${kind}`)}</span>
              <span className="xs t3 clip">{sourceOf(valueSource)}</span>
              <span className="v">
                <span className="med">{format.money(amountCents, currency)}</span>
                {`${kind === "SEAL" ? "" : ` (${deltaCents > 0 ? "+" : ""}${format.money(deltaCents, currency)})`} · ${format.moment(at)}`}
              </span>
            </li>
          ))}
        </ul>
      </section>
      {siblings.length > 0 && (
        <section>
          <h3 className="h2">{t("siblings")}</h3>
          <ul className="lines">
            {siblings.map((each) => (
              <li key={each.id}>
                <Badge state={each.status} />
                <a
                  className="link"
                  href={linkTo(each.id)}
                  onClick={(event) => {
                    if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab is the reader's wish
                    event.preventDefault();
                    onOpen(each.id);
                  }}
                >
                  {t(`rows.${each.kind}`)}
                </a>
                <span className="v">{format.moment(each.updatedAt)}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {proofs.length > 0 && (
        <section>
          <h3 className="h2">{t("proofs")}</h3>
          <ul className="lines">
            {proofs.map((proof) => (
              <li key={proof.id}>
                <Link className="link id" href={`/dashboard/proofs/${proof.id}`} prefetch={false}>
                  {`${proof.id.slice(0, 4)}…${proof.id.slice(-4)}`}
                </Link>
                <span className="xs t3 clip">{moveOf(proof)}</span>
                <span className="v">{format.moment(proof.at)}</span>
              </li>
            ))}
          </ul>
          <p className="xs t3 mt-2">{t("proofsHint", { order: row.orderId })}</p>
        </section>
      )}
    </>
  );
}
