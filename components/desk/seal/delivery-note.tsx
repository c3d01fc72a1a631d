"use client";

import { Send } from "lucide-react";
import Link from "next/link";
import { useTranslations } from "next-intl";
import { sitePath } from "#components/shell/nav-items.ts";
import type { DeskLead, DeskSale } from "#lib/leads/desk-shapes.ts";
import { useNow } from "../desk-clock.tsx";
import { useDesk } from "../desk-context.tsx";

/** What Google knows of a sale, in a sentence; a sale that is not delivered says why. */
export function DeliveryNote({ lead: { delivery }, sale }: { lead: DeskLead; sale: DeskSale }) {
  const t = useTranslations("desk");
  const { format, siteId } = useDesk();
  const now = useNow(30_000);
  const isRejected = delivery?.status === "COMPLETED" && delivery.verdict === "REJECTED" && !delivery.pendingAdjustment;
  const words = () => {
    if (sale.deliveryBlock) return t(`seal.notTold.${sale.deliveryBlock}`);
    if (!delivery) return null;
    const time = format.moment(delivery.uploadedAt ?? delivery.notBefore, now);
    if (isRejected) return t("sale.rejected");
    const key = ({ QUEUED: "queued", RETRY: "retry", PROCESSING: "processing", COMPLETED: "completed", FAILED: "failedNext" } as const)[
      delivery.status
    ];
    const adjustment = delivery.pendingAdjustment && t(delivery.pendingAdjustment === "RESTATE" ? "sale.restate" : "sale.retract");
    const isDue = delivery.status === "QUEUED" && Date.parse(delivery.notBefore) <= now.getTime();
    return [isDue ? t("sale.queuedDue") : t(`sale.${key}`, { time }), adjustment].filter(Boolean).join(" ");
  };
  const text = words();
  if (!text) return null;
  return (
    <p className="told">
      <Send className="i" />
      <span>
        {text}{" "}
        {(delivery?.status === "FAILED" || isRejected || delivery?.pendingAdjustment) && (
          <Link className="link" href={sitePath(siteId, "/oci-control")}>
            {t("sale.openControl")}
          </Link>
        )}
      </span>
    </p>
  );
}
