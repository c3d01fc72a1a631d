"use client";

import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactElement, ReactNode } from "react";
import { Button } from "./button.tsx";

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
  const t = useTranslations("ui");
  return (
    <Base.Root open={open} onOpenChange={onOpenChange}>
      {trigger && <Base.Trigger render={trigger} />}
      <Base.Portal>
        <Base.Backdrop className="scrim" />
        <Base.Popup className="sheet">
          <span className="grab" />
          <div className="row gap-3">
            {lead}
            <div className="grow">
              <Base.Title className="dialog-t">{title}</Base.Title>
              {note && <Base.Description className="sm t2 clip">{note}</Base.Description>}
            </div>
            <Base.Close render={<Button tone="ghost" icon aria-label={t("close")} />}>
              <X className="i i-22" />
            </Base.Close>
          </div>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
