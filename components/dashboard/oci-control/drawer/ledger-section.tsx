"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Badge } from "#components/ui/badge.tsx";
import type { QueueRowStory } from "#lib/oci/control-shapes.ts";

interface LedgerProps {
  story: QueueRowStory;
  linkTo: (id: string) => string;
  onOpen: (id: string) => void;
}

/** The money lines, other rows of the sale, and the proofs. */
export function LedgerSection({ story: { ledger, siblings, proofs, row }, linkTo, onOpen }: LedgerProps) {
  const t = useTranslations("oci.ledger");
  const format = useControlFormat();
  return (
    <>
      <section>
        <h3 className="h2">{t("title")}</h3>
        <ul className="lines">
          {ledger.map(({ id, kind, amountCents, deltaCents, currency, at, valueSource }) => (
            <li key={id}>
              <span>{t(`kinds.${kind}`)}</span>
              <span className="xs t3 clip">{valueSource}</span>
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
            {proofs.map(({ id, from, to, at }) => (
              <li key={id}>
                <Link className="link id" href={`/dashboard/proofs/${id}`} prefetch={false}>
                  {`${id.slice(0, 4)}…${id.slice(-4)}`}
                </Link>
                <span className="xs t3 clip">{[from, to].filter(Boolean).join(" → ")}</span>
                <span className="v">{format.moment(at)}</span>
              </li>
            ))}
          </ul>
          <p className="xs t3 mt-2">{t("proofsHint", { order: row.orderId })}</p>
        </section>
      )}
    </>
  );
}
