"use client";

import { useTranslations } from "next-intl";
import { useId } from "react";
import { useDesk } from "../desk-context.tsx";
import type { SealDraftState } from "./seal-draft.ts";

/** The amounts that this site seals most often. */
export function AmountPresets({ draft }: { draft: SealDraftState }) {
  const t = useTranslations("desk.seal");
  const { presets, currency, format } = useDesk();
  const name = useId();
  return (
    <div className="presets" role="radiogroup" aria-label={t("amount")}>
      {presets.map(({ amountCents, label, isExpected }) => (
        <label key={amountCents} className="preset">
          <input
            type="radio"
            className="sr"
            name={name}
            checked={draft.chosenCents === amountCents}
            onChange={() => draft.choose(amountCents)}
          />
          <b>{format.money(amountCents, currency)}</b>
          <span className="two-lines">{label ?? t(isExpected ? "expected" : "usualAmount")}</span>
        </label>
      ))}
    </div>
  );
}
