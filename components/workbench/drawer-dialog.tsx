"use client";

import { Dialog } from "@base-ui/react/dialog";
import type { ReactNode, RefObject } from "react";

interface DrawerDialogProps {
  title: string;
  className: string;
  initialFocus: RefObject<HTMLButtonElement | null>;
  onClose: () => void;
  children: ReactNode;
}

/** The phone's drawer: a page over the list. */
export function DrawerDialog({ title, className, initialFocus, onClose, children }: DrawerDialogProps) {
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Popup data-slot="drawer" className={className} aria-label={title} initialFocus={initialFocus}>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
