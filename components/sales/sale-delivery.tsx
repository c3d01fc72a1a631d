import { useTranslations } from "next-intl";
import { Badge } from "#components/ui/badge.tsx";
import { notSentCodes } from "#lib/oci/queue/row-state.ts";
import type { Sale } from "#lib/seal/sales-list.ts";

const blocks = ["NO_CLICK_ID", "NO_CONSENT", "CLICK_EXPIRED", "NO_MATCH"] as const;

/** How far a sale has come on its way to Google, or why it is never sent. */
export function SaleDelivery({ delivery, status }: Pick<Sale, "delivery" | "status">) {
  const t = useTranslations();
  const { state, reason, verdict } = delivery;
  if (state === "BLOCKED") {
    const block = blocks.find((known) => known === reason);
    return <Badge state="BLOCKED">{block && t(`blocks.${block}`)}</Badge>;
  }
  if (state === "NONE") return <span className="text-meta">{status === "DRAFT" ? t("sales.notYet") : "–"}</span>;
  if (state === "FAILED" && notSentCodes.some((code) => code === reason)) return <Badge state="NOT_SENT" />;
  const isJudged = state === "COMPLETED" && (verdict === "CONFIRMED" || verdict === "REJECTED");
  return <Badge state={isJudged ? verdict : state} />;
}
