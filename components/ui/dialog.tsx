"use client";

import { Dialog as Base } from "@base-ui/react/dialog";
import type { ReactElement, ReactNode } from "react";

interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: ReactNode;
  description?: ReactNode;
  /** The button that opens it, when one does; focus returns there. */
  trigger?: ReactElement;
  /** A press beside it does not close it: for something shown only once. */
  guarded?: boolean;
  children: ReactNode;
}

/** A question or a short form over the page; on a phone it rises from the bottom. Focus stays inside until it closes. */
export function Dialog({ open, onOpenChange, title, description, trigger, guarded = false, children }: DialogProps) {
  return (
    <Base.Root open={open} onOpenChange={onOpenChange} disablePointerDismissal={guarded}>
      {trigger && <Base.Trigger render={trigger} />}
      <Base.Portal>
        <Base.Backdrop className="scrim" />
        <Base.Viewport className="dialog-area">
          <Base.Popup className="dialog">
            <div>
              <Base.Title className="dialog-t">{title}</Base.Title>
              {description && <Base.Description className="dialog-p">{description}</Base.Description>}
            </div>
            {children}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

/** Closes the dialog around it; `render` is the button it looks like. */
export function DialogClose({ render, children }: { render: ReactElement; children: ReactNode }) {
  return <Base.Close render={render}>{children}</Base.Close>;
}
