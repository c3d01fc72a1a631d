"use client";

import { Dialog as Base } from "@base-ui/react/dialog";
import type { ReactNode, RefObject } from "react";
import { cn } from "../cn.ts";
import { dialogTitle, scrim } from "../dialog.tsx";
import { useOpenedLater } from "./use-opened-later.ts";

interface DialogPopupProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: ReactNode;
  description?: ReactNode;
  guarded?: boolean;
  finalFocus?: RefObject<HTMLElement | null> | undefined;
  children: ReactNode;
}

export function DialogPopup({ open, onOpenChange, title, description, guarded = false, finalFocus, children }: DialogPopupProps) {
  return (
    <Base.Root
      open={useOpenedLater(open)}
      // Its own buttons do not ask here.
      onOpenChange={(opening, details) => (guarded ? details.cancel() : onOpenChange(opening))}
      disablePointerDismissal={guarded}
    >
      <Base.Portal>
        <Base.Backdrop className={scrim} />
        <Base.Viewport className="fixed inset-0 z-41 grid place-items-center overflow-auto p-4 max-desk:items-end max-desk:justify-items-stretch max-desk:p-0">
          <Base.Popup
            data-slot="dialog"
            finalFocus={finalFocus}
            className={cn(
              "relative grid w-[min(440px,100%)] gap-4 rounded-[12px] bg-surface-pop p-5 shadow-lg outline-none transition-[opacity,translate] unseen:translate-y-2 unseen:opacity-0",
              "max-desk:max-h-[92dvh] max-desk:w-full max-desk:overflow-auto max-desk:rounded-b-none max-desk:rounded-t-xl max-desk:px-4 max-desk:pb-[calc(16px+env(safe-area-inset-bottom))] max-desk:duration-260 max-desk:unseen:translate-y-full max-desk:unseen:opacity-100",
            )}
          >
            <div>
              <Base.Title className={dialogTitle}>{title}</Base.Title>
              {description && <Base.Description className="mt-1 text-sm text-pretty text-support">{description}</Base.Description>}
            </div>
            {children}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}
