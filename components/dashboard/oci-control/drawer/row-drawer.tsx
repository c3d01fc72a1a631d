"use client";

import { CloudOff } from "lucide-react";
import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Skeleton } from "#components/ui/skeleton.tsx";
import { Drawer, DrawerSection } from "#components/workbench/drawer.tsx";
import { isNotSent } from "#lib/oci/queue/row-state.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { shortOrder } from "#lib/oci/short-order.ts";
import { AdjustSection } from "./adjust-section.tsx";
import { AmountSection } from "./amount-section.tsx";
import { LedgerSection } from "./ledger-section.tsx";
import { RowDeeds } from "./row-deeds.tsx";
import { SentSection } from "./sent-section.tsx";
import { TimelineSection } from "./timeline-section.tsx";
import { VerdictSection } from "./verdict-section.tsx";

interface DrawerProps {
  /** The newest the list knows of it; the story may be a moment behind. */
  row: QueueRow | null;
  story: QueueRowStory | null;
  isFailed: boolean;
  /** How many failed for the same reason, this one among them. */
  sameCause: number;
  onStep: ((step: 1 | -1) => void) | null;
  onClose: () => void;
}

/** One conversion's whole story. */
export function RowDrawer({ row, story, isFailed, sameCause, onStep, onClose }: DrawerProps) {
  const t = useTranslations("oci.drawer");
  const { mayAct } = useControl();
  const shown = row && story && Date.parse(row.updatedAt) > Date.parse(story.row.updatedAt) ? row : (story?.row ?? row);
  const order = shown?.orderId ?? "";
  const name = (
    <span className="id min-w-0 flex-1 truncate text-sm text-support" title={order}>
      {shortOrder(order)}
    </span>
  );
  return (
    <Drawer
      title={t("title", { order: shortOrder(order) })}
      name={name}
      onStep={onStep}
      onClose={onClose}
      foot={shown && mayAct && <RowDeeds row={shown} story={story} />}
    >
      {shown && <AmountSection row={shown} story={story} sameCause={sameCause} />}
      {story ? (
        <>
          <VerdictSection story={story} row={shown ?? story.row} />
          <AdjustSection story={story} />
          <TimelineSection story={story} />
          {(story.payload.sent || !isNotSent(story.row)) && <SentSection story={story} />}
          <LedgerSection story={story} />
        </>
      ) : isFailed ? (
        <EmptyState icon={CloudOff} title={t("missing")}>
          {t("missingBody")}
        </EmptyState>
      ) : (
        <DrawerSection>
          <div className="grid gap-3" aria-hidden="true">
            <Skeleton width="40%" height={16} />
            <Skeleton width="100%" height={84} />
            <Skeleton width="100%" height={180} />
          </div>
        </DrawerSection>
      )}
    </Drawer>
  );
}
