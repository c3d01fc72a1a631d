"use client";

import { useTranslations } from "next-intl";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";

const reasons = ["conversion", "returningAdUser", "scroll90", "hoverIntent", "scroll50", "interaction", "google"] as const;

/** Why a lead scores what it scores; what the visitor did to reach out is named by its channel. */
export function ScoreReasons({ lead: { score, points, channel } }: { lead: DeskLead }) {
  const t = useTranslations("desk.score");
  const why = useTranslations("desk.why");
  const { format } = useDesk();
  const sum = Object.values(points).reduce((total, count) => total + count, 0);
  return (
    <>
      <div className="row mb-[10px]">
        <h3 className="h2">{t("title", { score })}</h3>
        {sum > score && <span className="xs t3">{t("capped", { points: sum })}</span>}
      </div>
      <ul className="why-list mb-5">
        {reasons.map((reason) => {
          const count = points[reason];
          return count === undefined ? null : (
            <li key={reason} className="tag">
              {reason === "conversion" ? why(channel) : t(reason)} <b>{format.points(count)}</b>
            </li>
          );
        })}
      </ul>
    </>
  );
}
