"use client";

import type { ReactElement, ReactNode } from "react";
import { useOpener } from "./dialog.tsx";
import { latePart } from "./late-part.tsx";

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

const Popup = latePart(() => import("./popups/sheet-popup.tsx").then(({ SheetPopup }) => SheetPopup));

/** A phone's panel from the bottom edge, within reach of the thumb. */
export function Sheet({ trigger, children, ...props }: SheetProps) {
  const { triggerRef, opener } = useOpener(trigger, props, Popup.load);
  return (
    <>
      {opener}
      <Popup.Part isWanted={props.open} {...props} finalFocus={trigger && triggerRef}>
        {children}
      </Popup.Part>
    </>
  );
}
