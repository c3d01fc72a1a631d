"use client";

import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode, RefObject } from "react";
import { Button } from "../button.tsx";
import { dialogTitle, scrim } from "../dialog.tsx";
import { useOpenedLater } from "./use-opened-later.ts";

interface SheetPopupProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: ReactNode;
  lead?: ReactNode;
  note?: ReactNode;
  finalFocus?: RefObject<HTMLElement | null> | undefined;
  children: ReactNode;
}

export function SheetPopup({ open, onOpenChange, title, lead, note, finalFocus, children }: SheetPopupProps) {
  const t = useTranslations();
  return (
    <Base.Root open={useOpenedLater(open)} onOpenChange={onOpenChange}>
      <Base.Portal>
        <Base.Backdrop className={scrim} />
        <Base.Popup
          data-slot="sheet"
          finalFocus={finalFocus}
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
