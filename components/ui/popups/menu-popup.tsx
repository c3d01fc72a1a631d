"use client";

import { Menu as Base } from "@base-ui/react/menu";
import { Check, type LucideIcon } from "lucide-react";
import Link from "next/link";
import type { FocusEvent, ReactNode, RefObject } from "react";
import { cn } from "../cn.ts";
import { useOpenedLater } from "./use-opened-later.ts";

const item =
  "flex min-h-8.5 w-full cursor-pointer items-center gap-2.5 rounded-[6px] px-2 py-1.25 text-sm font-medium text-content outline-none data-highlighted:bg-surface-2 data-highlighted:focus-visible:outline-2 data-highlighted:focus-visible:-outline-offset-2 data-highlighted:focus-visible:outline-focus max-desk:min-h-11 max-desk:text-(length:--text-base)";

interface MenuPopupProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** Opened by a key: the first line has the focus. */
  isByKey: boolean;
  side: "top" | "bottom";
  anchor: RefObject<HTMLElement | null>;
  labelledBy: string;
  children: ReactNode;
}

export function MenuPopup({ open, onOpenChange, isByKey, side, anchor, labelledBy, children }: MenuPopupProps) {
  /** The focus that comes from the trigger lands on the menu itself. */
  const onFocus = ({ target, currentTarget, relatedTarget }: FocusEvent) => {
    if (isByKey && target === currentTarget && relatedTarget === anchor.current)
      currentTarget.querySelector<HTMLElement>("[role^=menuitem]")?.focus();
  };
  return (
    <Base.Root open={useOpenedLater(open)} onOpenChange={onOpenChange}>
      <Base.Portal>
        {/* Fixed, as most of our triggers are: a menu in the page's flow lay beside its trigger for a frame when the page scrolled. */}
        <Base.Positioner className="z-50 outline-none" anchor={anchor} side={side} align="start" sideOffset={6} positionMethod="fixed">
          <Base.Popup
            finalFocus={anchor}
            onFocus={onFocus}
            aria-labelledby={labelledBy}
            className="max-h-(--available-height) w-max max-w-[min(320px,calc(100vw-32px))] min-w-54 overflow-auto rounded-lg bg-surface-pop p-1 shadow-lg outline-none transition-[opacity,translate] unseen:-translate-y-1 unseen:opacity-0"
          >
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

interface MenuLinkProps {
  href: string;
  icon?: LucideIcon;
  current?: boolean;
  children: ReactNode;
}

export function MenuLink({ href, icon: Icon, current, children }: MenuLinkProps) {
  return (
    <Base.LinkItem className={item} closeOnClick render={<Link href={href} aria-current={current || undefined} />}>
      {Icon && <Icon className="text-meta" />}
      {children}
    </Base.LinkItem>
  );
}

interface MenuActionProps {
  icon: LucideIcon;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuAction({ icon: Icon, onSelect, children }: MenuActionProps) {
  return (
    <Base.Item className={item} onClick={onSelect}>
      <Icon className="text-meta" />
      {children}
    </Base.Item>
  );
}

export function MenuSeparator() {
  return <Base.Separator className="m-1 h-px bg-line-1" />;
}

interface MenuCheckProps {
  checked: boolean;
  onChange: (checked: boolean) => void;
  children: ReactNode;
}

export function MenuCheck({ checked, onChange, children }: MenuCheckProps) {
  return (
    <Base.CheckboxItem className={item} checked={checked} onCheckedChange={onChange} closeOnClick={false}>
      <Check className={cn("text-meta", !checked && "invisible")} />
      {children}
    </Base.CheckboxItem>
  );
}
