"use client";

import {
  type ComponentProps,
  cloneElement,
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  useId,
  useRef,
  useState,
} from "react";
import { latePart } from "./late-part.tsx";

type Parts = typeof import("./popups/menu-popup.tsx");
/** The lines are drawn only inside an open menu, whose code has them. */
let parts: Parts | undefined;
const Popup = latePart(async () => {
  parts = await import("./popups/menu-popup.tsx");
  return parts.MenuPopup;
});

interface MenuProps {
  trigger: ReactElement;
  triggerContent: ReactNode;
  side?: "top" | "bottom";
  children: ReactNode;
}

/** A list of places or deeds that drops from a button; arrow keys and typing move in it. */
export function Menu({ trigger, triggerContent, side = "bottom", children }: MenuProps) {
  const [open, setOpen] = useState(false);
  const [isByKey, setByKey] = useState(false);
  const anchor = useRef<HTMLButtonElement>(null);
  const id = useId();
  const props = {
    id,
    ref: anchor,
    "aria-haspopup": "menu" as const,
    "aria-expanded": open,
    onPointerEnter: Popup.load,
    onFocus: Popup.load,
    onClick: (event: MouseEvent) => {
      setByKey(event.detail === 0); // Enter, Space or a screen reader
      setOpen(!open || !Popup.isHere());
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      event.preventDefault();
      setByKey(true);
      setOpen(true);
    },
  };
  return (
    <>
      {cloneElement(trigger, props, triggerContent)}
      <Popup.Part isWanted={open} open={open} onOpenChange={setOpen} isByKey={isByKey} side={side} anchor={anchor} labelledBy={id}>
        {children}
      </Popup.Part>
    </>
  );
}

export function MenuLink(props: ComponentProps<Parts["MenuLink"]>) {
  return parts && <parts.MenuLink {...props} />;
}

export function MenuAction(props: ComponentProps<Parts["MenuAction"]>) {
  return parts && <parts.MenuAction {...props} />;
}

/** A line that is on or off; the menu stays open, since the next one may follow. */
export function MenuCheck(props: ComponentProps<Parts["MenuCheck"]>) {
  return parts && <parts.MenuCheck {...props} />;
}

export function MenuSeparator() {
  return parts && <parts.MenuSeparator />;
}
