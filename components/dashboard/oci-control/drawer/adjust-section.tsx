"use client";

import { CalendarClock } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { CorrectAmountDialog } from "#components/forms/correct-amount-dialog.tsx";
import { useSend } from "#components/forms/use-send.ts";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { DrawerSection } from "#components/workbench/drawer.tsx";
import { adjustmentDaysLeft, adjustmentPath } from "#lib/oci/queue/adjustment-path.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import { useControl } from "../control-context.tsx";

type Deed = "correct" | "cancel";

/** Correct the amount or cancel the sale, with the days that are left at Google and how the change gets there. */
export function AdjustSection({ story: { sale, row, siblings } }: { story: QueueRowStory }) {
  const t = useTranslations("oci.adjust");
  const { site, mayAct, now, format } = useControl();
  const { send, pending } = useSend();
  const [asked, setAsked] = useState<Deed | null>(null);
  const [reason, setReason] = useState("");
  /** The version that was changed here: until the next one is read, another change would be refused. */
  const [changedVersion, setChangedVersion] = useState(0);
  useBackCloses(asked === "cancel", () => setAsked(null));
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
  const isOld = sale.version === changedVersion;
  /** The sale's own endpoints; the version refuses what somebody else changed meanwhile. */
  const change = (deed: Deed, why: string, done: string, more: { amountCents?: number } = {}) =>
    send({
      method: "POST",
      url: `/api/sites/${site.publicId}/sales/${sale.id}/${deed}`,
      body: { ...more, ...(why.trim() && { reason: why.trim() }), expectedVersion: sale.version },
      done,
      onDone: () => {
        setAsked(null);
        setChangedVersion(sale.version);
      },
    });
  const dialog = (deed: Deed) => ({
    pending,
    open: asked === deed,
    onOpenChange: (isOpen: boolean) => setAsked(isOpen ? deed : null),
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
      {mayAct && (
        <div className="mt-2.5 flex min-w-0 items-center gap-2">
          <Button size="sm" disabled={isOld} onClick={() => setAsked("correct")}>
            {t("correct")}
          </Button>
          <Button size="sm" tone="danger" disabled={isOld} onClick={() => setAsked("cancel")}>
            {t("cancel")}
          </Button>
          <CorrectAmountDialog
            key={sale.version}
            {...dialog("correct")}
            title={t("correctTitle")}
            sale={sale}
            consequence={t(`correctPaths.${path}`, { date })}
            money={format.money}
            onCorrect={(amountCents, why) =>
              void change("correct", why, t("corrected", { amount: format.money(amountCents, sale.currency) }), { amountCents })
            }
          />
          <ConfirmDialog
            {...dialog("cancel")}
            title={t("cancelTitle", { amount: format.money(sale.amountCents, sale.currency) })}
            description={t(`cancelPaths.${path}`, { date })}
            confirm={t("cancel")}
            cancel={t("keep")}
            onConfirm={() => void change("cancel", reason, t("cancelled"))}
          >
            <Field label={t("reason")} hint={t("reasonHint")}>
              {(control) => <Input {...control} value={reason} maxLength={200} onChange={(event) => setReason(event.target.value)} />}
            </Field>
          </ConfirmDialog>
        </div>
      )}
    </DrawerSection>
  );
}
