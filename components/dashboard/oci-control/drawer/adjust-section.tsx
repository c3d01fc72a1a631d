"use client";

import { CalendarClock } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { UndoSaleButton } from "#components/contracts/undo-sale-button.tsx";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { type SaleChange, SaleDialogs } from "#components/forms/sale-dialogs.tsx";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { DrawerSection } from "#components/workbench/drawer.tsx";
import { adjustmentDaysLeft, adjustmentPath } from "#lib/oci/queue/adjustment-path.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";

/** Correct the amount or cancel the sale, with the days that are left at Google and how the change gets there. */
export function AdjustSection({ story: { sale, row, siblings } }: { story: QueueRowStory }) {
  const t = useTranslations("oci.adjust");
  const word = useTranslations();
  const { site, mayAct, now, format } = useControl();
  const { send, pending } = useSend();
  const [asked, setAsked] = useState<SaleChange | null>(null);
  /** The version that was changed here: until the next one is read, another change would be refused. */
  const [changedVersion, setChangedVersion] = useState(0);
  const undo = mayAct && (
    <UndoSaleButton
      siteId={site.siteId}
      saleId={sale.id}
      step={sale.undo}
      money={format.money}
      className="mt-2.5 h-auto whitespace-normal"
      onUndone={() => setChangedVersion(sale.version)}
    />
  );
  if (sale.status !== "CONFIRMED") return undo && sale.undo && <DrawerSection title={t("title")}>{undo}</DrawerSection>;
  const rows = [row, ...siblings];
  const path = adjustmentPath(sale, {
    syncMethod: site.ociSyncMethod,
    wasRejected: rows.some(({ verdict }) => verdict === "REJECTED"),
    isInFlight: rows.some(({ kind, status }) => kind === "CONVERSION" && status === "PROCESSING"),
    now,
  });
  const daysLeft = adjustmentDaysLeft(sale.adjustableUntil, now);
  const date = format.date(sale.adjustableUntil);
  const isOld = sale.version === changedVersion;
  /** The sale's own endpoints; the version refuses what somebody else changed meanwhile. */
  const change = (deed: SaleChange, why: string, done: string, more: { amountCents?: number } = {}) =>
    send({
      method: "POST",
      url: `/api/sites/${site.siteId}/sales/${sale.id}/${deed}`,
      body: { ...more, ...(why.trim() && { reason: why.trim() }), expectedVersion: sale.version },
      done,
      onDone: () => {
        setAsked(null);
        setChangedVersion(sale.version);
      },
    });
  return (
    <DrawerSection title={t("title")}>
      <p className="text-sm text-support">{t(`paths.${path}`)}</p>
      {sale.atGoogle !== null && path !== "blocked" && (
        <p className="mt-1.5 flex min-w-0 items-center gap-2 text-sm text-support">
          <CalendarClock className="text-meta" />
          <span>{daysLeft === null ? t("over", { date }) : t("clock", { date, days: daysLeft })}</span>
        </p>
      )}
      {undo}
      {mayAct && (
        <div className="mt-2.5 flex min-w-0 items-center gap-2">
          <Button size="sm" disabled={isOld} onClick={() => setAsked("correct")}>
            {word("actions.correct")}
          </Button>
          <Button size="sm" tone="danger" disabled={isOld} onClick={() => setAsked("cancel")}>
            {word("actions.cancelSale")}
          </Button>
          {isOld && <span className="text-xs text-support">{t("updating")}</span>}
          <SaleDialogs
            sale={sale}
            path={path}
            date={date}
            money={format.money}
            pending={pending}
            asked={asked}
            onAsk={setAsked}
            onCorrect={(amountCents, why) =>
              void change("correct", why, t("corrected", { amount: format.money(amountCents, sale.currency) }), { amountCents })
            }
            onCancel={(why) => void change("cancel", why, t("cancelled"))}
          />
        </div>
      )}
    </DrawerSection>
  );
}
