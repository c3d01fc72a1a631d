"use client";

import { Dialog } from "@base-ui/react/dialog";
import { CloudOff } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ReactNode, type RefObject, useRef } from "react";
import type { Actions } from "#components/dashboard/oci-control/actions/use-actions.tsx";
import { shortOrder } from "#components/dashboard/oci-control/table/short-order.ts";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Skeleton } from "#components/ui/skeleton.tsx";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import type { ViewFilter } from "#lib/oci/queue/view.ts";
import { AdjustSection } from "./adjust-section.tsx";
import { AmountSection } from "./amount-section.tsx";
import { AttemptsSection } from "./attempts-section.tsx";
import { DrawerFoot } from "./drawer-foot.tsx";
import { DrawerHead } from "./drawer-head.tsx";
import { LedgerSection } from "./ledger-section.tsx";
import { SentSection } from "./sent-section.tsx";
import { TimelineSection } from "./timeline-section.tsx";
import { usePhone } from "./use-phone.ts";
import { VerdictSection } from "./verdict-section.tsx";

interface DrawerProps {
  /** The newest the list knows of it; the story may be a moment behind. */
  row: QueueRow | null;
  story: QueueRowStory | null;
  failed: boolean;
  actions: Actions;
  sameCause: number;
  onStep: ((step: 1 | -1) => void) | null;
  linkTo: (id: string) => string;
  onOpen: (id: string) => void;
  onFilter: (filter: ViewFilter) => void;
  onChanged: () => void;
  onClose: () => void;
}

/** One conversion's whole story, beside the list; on a phone it is a page over it. */
export function RowDrawer({ row, story, failed, actions, sameCause, onStep, linkTo, onOpen, onFilter, onChanged, onClose }: DrawerProps) {
  const t = useTranslations("oci.drawer");
  const closeButton = useRef<HTMLButtonElement>(null);
  const shown = row && story && Date.parse(row.updatedAt) >= Date.parse(story.row.updatedAt) ? row : (story?.row ?? row);
  const sentAgain = (rowId: string) => {
    onChanged();
    onOpen(rowId);
  };
  const title = t("title", { order: shown ? shortOrder(shown.orderId) : "" });
  return (
    <Frame title={title} onClose={onClose} closeButton={closeButton}>
      <DrawerHead order={shown?.orderId ?? ""} onStep={onStep} onClose={onClose} closeButton={closeButton} />
      <div className="drawer-b">
        {shown && (
          <AmountSection
            row={shown}
            story={story}
            sameCause={sameCause}
            actions={actions}
            linkTo={linkTo}
            onOpen={onOpen}
            onFilter={onFilter}
            onChanged={onChanged}
          />
        )}
        {story ? (
          <>
            <VerdictSection story={story} row={shown ?? story.row} onSent={sentAgain} />
            <AdjustSection story={story} onChanged={onChanged} />
            <TimelineSection story={story} />
            <SentSection story={story} />
            <AttemptsSection attempts={story.attempts} />
            <LedgerSection story={story} linkTo={linkTo} onOpen={onOpen} />
          </>
        ) : failed ? (
          <EmptyState icon={CloudOff} title={t("missing")}>
            {t("missingBody")}
          </EmptyState>
        ) : (
          <section className="stack" aria-hidden="true">
            <Skeleton width="40%" height={16} />
            <Skeleton width="100%" height={84} />
            <Skeleton width="100%" height={180} />
          </section>
        )}
      </div>
      {shown && <DrawerFoot row={shown} story={story} actions={actions} />}
    </Frame>
  );
}

interface FrameProps {
  title: string;
  onClose: () => void;
  /** Has the focus when the page opens over the list. */
  closeButton: RefObject<HTMLButtonElement | null>;
  children: ReactNode;
}

function Frame({ title, onClose, closeButton, children }: FrameProps) {
  const isPhone = usePhone();
  useBackCloses(isPhone, onClose);
  if (!isPhone) {
    return (
      <aside className="drawer" aria-label={title}>
        {children}
      </aside>
    );
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Popup className="drawer" aria-label={title} initialFocus={closeButton}>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
