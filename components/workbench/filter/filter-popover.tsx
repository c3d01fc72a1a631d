"use client";

import { Popover } from "@base-ui/react/popover";
import type { ReactNode, RefObject } from "react";
import { useOpenedLater } from "#components/ui/popups/use-opened-later.ts";

interface FilterPopoverProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  anchor: RefObject<HTMLElement | null>;
  label: string;
  children: ReactNode;
}

/** What waits behind the last chip. */
export function FilterPopover({ open, onOpenChange, anchor, label, children }: FilterPopoverProps) {
  return (
    <Popover.Root
      open={useOpenedLater(open)}
      // A press on the chip closes it by itself; closing here too would let the chip open it again.
      onOpenChange={(isOpen, { event }) =>
        (!(event.target instanceof Node && anchor.current?.contains(event.target)) || isOpen) && onOpenChange(isOpen)
      }
    >
      <Popover.Portal>
        <Popover.Positioner className="z-50 outline-none" anchor={anchor} align="start" sideOffset={6}>
          <Popover.Popup
            data-slot="popover"
            finalFocus={anchor}
            className="w-[min(340px,calc(100vw-32px))] rounded-lg bg-surface-pop p-4 shadow-lg outline-none"
            aria-label={label}
          >
            {children}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
