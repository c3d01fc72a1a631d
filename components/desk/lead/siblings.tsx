"use client";

import { useTranslations } from "next-intl";
import type { LeadDetail } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";

/** Other leads of the same visit: one person may have called and written. */
export function Siblings({ detail: { siblings }, onChoose }: { detail: LeadDetail; onChoose: (id: string) => void }) {
  const t = useTranslations("desk");
  const { format } = useDesk();
  if (siblings.length === 0) return null;
  return (
    <p className="sm t2 w-full">
      {t("detail.siblings")}{" "}
      {siblings.map(({ id, channel, status, calledAt }) => (
        <button key={id} type="button" className="link mr-2" onClick={() => onChoose(id)}>
          {t("detail.sibling", { channel: t(`channel.${channel}`), time: format.time(calledAt), status: t(`status.${status}`) })}
        </button>
      ))}
    </p>
  );
}
