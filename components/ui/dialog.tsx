"use client";

import { type ComponentProps, cloneElement, createContext, type ReactElement, type ReactNode, useContext, useRef } from "react";
import { cn } from "./cn.ts";
import { latePart } from "./late-part.tsx";

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
  /** Only its own buttons close it, neither Esc nor a press beside it: for something shown only once. */
  guarded?: boolean;
  children: ReactNode;
}

const Popup = latePart(() => import("./popups/dialog-popup.tsx").then(({ DialogPopup }) => DialogPopup));
const CloseContext = createContext<() => void>(() => {});

/** A question or a short form over the page; on a phone it rises from the bottom. Focus stays inside until it closes. */
export function Dialog({ trigger, children, ...props }: DialogProps) {
  const { triggerRef, opener } = useOpener(trigger, props, Popup.load);
  return (
    <CloseContext value={() => props.onOpenChange(false)}>
      {opener}
      <Popup.Part isWanted={props.open} {...props} finalFocus={trigger && triggerRef}>
        {children}
      </Popup.Part>
    </CloseContext>
  );
}

/** The button that opens something that floats, which begins to load when a pointer or the focus comes near. */
export function useOpener(
  trigger: ReactElement | undefined,
  { open, onOpenChange }: Pick<DialogProps, "open" | "onOpenChange">,
  load: () => void,
) {
  const triggerRef = useRef<HTMLButtonElement>(null);
  const props: ComponentProps<"button"> = {
    ref: triggerRef,
    "aria-haspopup": "dialog",
    "aria-expanded": open,
    onPointerEnter: load,
    onFocus: load,
    onClick: () => onOpenChange(true),
  };
  return { triggerRef, opener: trigger && cloneElement(trigger, props) };
}

/** Closes the dialog around it; `render` is the button it looks like. */
export function DialogClose({ render, children }: { render: ReactElement<ComponentProps<"button">>; children: ReactNode }) {
  const close = useContext(CloseContext);
  return cloneElement(render, { onClick: close }, children);
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
