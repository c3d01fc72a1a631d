"use client";

import { useTranslations } from "next-intl";
import type { LeadDetail } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";

/** The lines that a sale's amount is the sum of, and the proof of every move, for whoever wants to check. */
export function Ledger({ detail: { ledger, history } }: { detail: LeadDetail }) {
  const t = useTranslations("desk.sale");
  const { format } = useDesk();
  if (history.length === 0) return null;
  return (
    <details className="ledger">
      <summary>{t("ledger")}</summary>
      {ledger.length > 0 && (
        <ul>
          {ledger.map(({ id, at, kind, deltaCents, currency, by }) => (
            <li key={id} className="ledger-line">
              <span className="grow">
                {t(`ledgerKinds.${kind}`)}
                <small>{[by, format.dateTime(at)].filter(Boolean).join(" · ")}</small>
              </span>
              <b className="med">{format.money(deltaCents, currency)}</b>
            </li>
          ))}
        </ul>
      )}
      <ul>
        {history.map(({ proofId, at }) => (
          <li key={proofId} className="ledger-line">
            <span className="id grow xs t3">{t("proof", { id: proofId })}</span>
            <span className="xs t3">{format.dateTime(at)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
