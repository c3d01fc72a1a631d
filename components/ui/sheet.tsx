"use client";

import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactElement, ReactNode } from "react";
import { Button } from "./button.tsx";
import { dialogTitle, scrim } from "./dialog.tsx";

interface SheetProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: ReactNode;
  /** The button that opens it, when one does. */
  trigger?: ReactElement;
  /** Stands before the title, such as an icon. */
  lead?: ReactNode;
  /** A quiet line below the title. */
  note?: ReactNode;
  children: ReactNode;
}

/** A phone's panel from the bottom edge, within reach of the thumb. */
export function Sheet({ open, onOpenChange, title, trigger, lead, note, children }: SheetProps) {
  const t = useTranslations();
  return (
    <Base.Root open={open} onOpenChange={onOpenChange}>
      {trigger && <Base.Trigger render={trigger} />}
      <Base.Portal>
        <Base.Backdrop className={scrim} />
        <Base.Popup
          data-slot="sheet"
          className="fixed inset-x-0 bottom-0 z-41 grid max-h-[92dvh] gap-4 overflow-auto rounded-t-xl bg-surface-pop px-4 pt-2 pb-[calc(16px+env(safe-area-inset-bottom))] shadow-lg outline-none transition-[translate] duration-260 unseen:translate-y-full"
        >
          <span className="mx-auto h-1 w-9 rounded-[2px] bg-line-2" />
          <div className="flex min-w-0 items-center gap-3">
            {lead}
            <div className="min-w-0 flex-1">
              <Base.Title className={dialogTitle}>{title}</Base.Title>
              {note && <Base.Description className="truncate text-sm text-support">{note}</Base.Description>}
            </div>
            <Base.Close render={<Button tone="ghost" icon aria-label={t("actions.close")} />}>
              <X className="size-5.5 stroke-[1.6]" />
            </Base.Close>
          </div>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
