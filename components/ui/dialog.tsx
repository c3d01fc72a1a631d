"use client";

import { Dialog as Base } from "@base-ui/react/dialog";
import type { ComponentProps, ReactElement, ReactNode } from "react";
import { cn } from "./cn.ts";

/** What lies between the page and a dialog or a sheet. */
export const scrim = "fixed inset-0 z-40 bg-scrim transition-opacity unseen:opacity-0";
export const dialogTitle = "text-lg font-semibold text-balance";

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
        <Base.Backdrop className={scrim} />
        <Base.Viewport className="fixed inset-0 z-41 grid place-items-center overflow-auto p-4 max-desk:items-end max-desk:justify-items-stretch max-desk:p-0">
          <Base.Popup
            data-slot="dialog"
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

/** Closes the dialog around it; `render` is the button it looks like. */
export function DialogClose({ render, children }: { render: ReactElement; children: ReactNode }) {
  return <Base.Close render={render}>{children}</Base.Close>;
}

/** The answers. On a phone each is as wide as the dialog and as high as a thumb. */
export function DialogFoot({ className, ...props }: ComponentProps<"div">) {
  return (
    <div
      className={cn(
        "flex flex-wrap justify-end gap-2 max-desk:grid max-desk:grid-cols-1 max-desk:*:min-h-13 max-desk:*:rounded-[12px] max-desk:*:whitespace-normal",
        className,
      )}
      {...props}
    />
  );
}
