"use client";

import { CalendarClock } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Button } from "#components/ui/button.tsx";
import { adjustmentDaysLeft, adjustmentPath } from "#lib/oci/queue/adjustment-path.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import { CancelSaleDialog, CorrectSaleDialog } from "./adjust-dialogs.tsx";

/** Correct the amount or cancel the sale, with the days that are left at Google and how the change gets there. */
export function AdjustSection({ story: { sale, row, siblings }, onChanged }: { story: QueueRowStory; onChanged: () => void }) {
  const t = useTranslations("oci.adjust");
  const format = useControlFormat();
  const { site, mayAct, now } = useControl();
  const [dialog, setDialog] = useState<"correct" | "cancel" | null>(null);
  /** The version that was changed here: until the next one is read, another change would be refused. */
  const [changedVersion, setChangedVersion] = useState(0);
  if (sale.status !== "CONFIRMED") return null;
  const rows = [row, ...siblings];
  const path = adjustmentPath(sale, {
    syncMethod: site.ociSyncMethod,
    wasRejected: rows.some(({ verdict }) => verdict === "REJECTED"),
    isInFlight: rows.some(({ kind, status }) => kind === "CONVERSION" && status === "PROCESSING"),
    now,
  });
  const daysLeft = adjustmentDaysLeft(sale.adjustableUntil, now);
  const date = format.date(sale.adjustableUntil);
  const hasClock = sale.atGoogle !== null && path !== "blocked";
  const dialogProps = (name: "correct" | "cancel") => ({
    sale,
    consequence: t(`${name}Paths.${path}`, { date }),
    open: dialog === name,
    onOpenChange: (open: boolean) => setDialog(open ? name : null),
    onChanged: () => {
      setChangedVersion(sale.version);
      onChanged();
    },
  });
  const isOld = sale.version === changedVersion;
  return (
    <section>
      <h3 className="h2">{t("title")}</h3>
      <p className="sm t2">{t(`paths.${path}`)}</p>
      {hasClock && (
        <p className="row sm t2 mt-1.5">
          <CalendarClock className="i t3" />
          <span>{daysLeft === null ? t("over", { date }) : t("clock", { date, days: daysLeft })}</span>
        </p>
      )}
      {mayAct && (
        <div className="row mt-2.5">
          <Button size="sm" disabled={isOld} onClick={() => setDialog("correct")}>
            {t("correct")}
          </Button>
          <Button size="sm" tone="danger" disabled={isOld} onClick={() => setDialog("cancel")}>
            {t("cancel")}
          </Button>
          <CorrectSaleDialog key={`${sale.version}-correct`} {...dialogProps("correct")} />
          <CancelSaleDialog {...dialogProps("cancel")} />
        </div>
      )}
    </section>
  );
}
