"use client";

import { useTranslations } from "next-intl";
import type { DeskLead, DeskSale } from "#lib/leads/desk-shapes.ts";
import { adjustmentPath } from "#lib/oci/queue/adjustment-path.ts";
import { useServerTime } from "../desk-clock.tsx";
import { useDesk } from "../desk-context.tsx";

/** What a change of a sealed sale means for Google, in a sentence: by what Google has of this sale, as OCI Control tells it. */
export function useConsequence({ delivery }: DeskLead, sale: DeskSale): (change: "correct" | "cancel") => string {
  const t = useTranslations("oci.adjust");
  const { format, rules } = useDesk();
  const serverTime = useServerTime();
  return (change) => {
    const path = adjustmentPath(sale, {
      syncMethod: rules.syncMethod,
      wasRejected: delivery?.verdict === "REJECTED",
      isInFlight: delivery?.status === "PROCESSING",
      now: serverTime(),
    });
    return t(`${change}Paths.${path}`, { date: format.date(sale.adjustableUntil) });
  };
}
