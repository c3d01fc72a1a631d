"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { useStateWord } from "#components/contracts/use-state-word.ts";
import { proofPath } from "#components/shell/nav-items.ts";
import { ledgerWords } from "#lib/contracts/states.ts";
import type { LeadDetail } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";

const line = "flex items-baseline gap-3 py-1.5";

/** The lines that a sale's amount is the sum of, and the proof of every move, for anyone who wants to check. */
export function Ledger({ detail: { ledger, history } }: { detail: LeadDetail }) {
  const t = useTranslations();
  const { format } = useDesk();
  const stateOf = useStateWord();
  if (history.length === 0) return null;
  return (
    <details className="mt-4 border-line-1 border-t">
      <summary className="flex min-h-10 cursor-pointer items-center text-sm font-medium text-accent-text">{t("labels.ledger")}</summary>
      <ul>
        {ledger.map(({ id, at, kind, deltaCents, currency, by }) => (
          <li key={id} className={`${line} text-sm`}>
            <span className="min-w-0 flex-1">
              {t(`kinds.${ledgerWords[kind]}`)}
              <small className="block text-xs text-meta">{[by, format.dateTime(at)].filter(Boolean).join(" · ")}</small>
            </span>
            <b className="font-medium">{format.money(deltaCents, currency)}</b>
          </li>
        ))}
        {history.map(({ proofId, at, to }) => (
          <li key={proofId} className={`${line} text-xs text-meta`}>
            <Link className="link min-w-0 flex-1" href={proofPath(proofId)} prefetch={false}>
              {t("desk.sale.proof", { move: stateOf(to) })}
            </Link>
            <span>{format.dateTime(at)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
