"use client";

import { useTranslations } from "next-intl";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { shortOrder } from "#components/dashboard/oci-control/table/short-order.ts";
import type { QueueActionPreview } from "#lib/oci/queue/actions.ts";

/** What a preview found: where the rows stand now, which stay as they are and why, and the first few by name. */
export function PreviewFacts({ preview }: { preview: QueueActionPreview }) {
  const t = useTranslations("oci.actions");
  const states = useTranslations("states");
  const format = useControlFormat();
  const { byStatus, ineligible, sample, truncated } = preview;
  return (
    <>
      <ul className="counts">
        {Object.entries(byStatus).map(([status, count]) => (
          <li key={status}>
            <span>{states(status as keyof typeof byStatus)}</span>
            <span className="v">{format.number(count)}</span>
          </li>
        ))}
        {Object.entries(ineligible).map(([reason, count]) => (
          <li key={reason} className="t2">
            <span>{t(`skipped.${reason as keyof typeof ineligible}`)}</span>
            <span className="v">{format.number(count)}</span>
          </li>
        ))}
        {sample.length > 0 && (
          <li className="xs t3">
            <span>{t("sample", { orders: sample.map((row) => shortOrder(row.orderId)).join(", ") })}</span>
          </li>
        )}
      </ul>
      {truncated && <p className="sm t2">{t("truncated", { count: format.number(preview.count) })}</p>}
      <p className="xs t3">{t("frozen")}</p>
    </>
  );
}
