"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { WhyButton } from "#components/delivery/why-button.tsx";
import { DrawerSection } from "#components/workbench/drawer.tsx";
import { isByHand } from "#lib/oci/queue/row-state.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { ByHandCard } from "./by-hand-card.tsx";
import { CureCard } from "./cure-card.tsx";

interface AmountProps {
  row: QueueRow;
  story: QueueRowStory | null;
  sameCause: number;
}

/** The amount, the lead, and what is wrong: What, Who, Fix. */
export function AmountSection({ row, story, sameCause }: AmountProps) {
  const t = useTranslations();
  const { site, format } = useControl();
  const facts = [
    row.channel && t(`channels.${row.channel}`),
    row.phoneEnding && `••• ${row.phoneEnding}`,
    row.clickKind && t("labels.adClick"),
    t(`kinds.${row.kind}`),
  ];
  const worth = row.kind === "RETRACT" ? (story?.ledger.at(0)?.amountCents ?? 0) : row.valueCents;
  return (
    <DrawerSection>
      <div className="text-2xl font-semibold tracking-[-0.028em]">
        {row.kind === "RETRACT"
          ? t("oci.drawer.takeBack", { money: format.money(worth, row.currency) })
          : format.exactMoney(worth, row.currency)}
      </div>
      <p className="mt-0.5 text-sm text-support">{facts.filter(Boolean).join(" · ")}</p>
      {isByHand(row, site.ociSyncMethod) ? <ByHandCard row={row} /> : <CureCard row={row} sameCause={sameCause} />}
      <p className="mt-2">
        <WhyButton
          siteId={site.siteId}
          saleId={row.saleId}
          timeZone={site.timezone}
          isCounted={row.verdict === "CONFIRMED"}
          look="link"
          openRowId={row.id}
        />
      </p>
    </DrawerSection>
  );
}
