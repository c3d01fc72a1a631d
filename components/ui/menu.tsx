"use client";

import { Menu as Base } from "@base-ui/react/menu";
import { Check, type LucideIcon } from "lucide-react";
import Link from "next/link";
import type { ReactElement, ReactNode } from "react";
import { cn } from "./cn.ts";

const item =
  "flex min-h-8.5 w-full cursor-pointer items-center gap-2.5 rounded-[6px] px-2 py-1.25 text-sm font-medium text-content outline-none data-highlighted:bg-surface-2 data-highlighted:focus-visible:outline-2 data-highlighted:focus-visible:-outline-offset-2 data-highlighted:focus-visible:outline-focus max-desk:min-h-11 max-desk:text-(length:--text-base)";

interface MenuProps {
  trigger: ReactElement;
  triggerContent: ReactNode;
  side?: "top" | "bottom";
  children: ReactNode;
}

/** A list of places or deeds that drops from a button; arrow keys and typing move in it. */
export function Menu({ trigger, triggerContent, side = "bottom", children }: MenuProps) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger}>{triggerContent}</Base.Trigger>
      <Base.Portal>
        {/* Fixed, as most of our triggers are: a menu in the page's flow lay beside its trigger for a frame when the page scrolled. */}
        <Base.Positioner className="z-50 outline-none" side={side} align="start" sideOffset={6} positionMethod="fixed">
          <Base.Popup className="max-h-(--available-height) w-max max-w-[min(320px,calc(100vw-32px))] min-w-54 overflow-auto rounded-lg bg-surface-pop p-1 shadow-lg outline-none transition-[opacity,translate] unseen:-translate-y-1 unseen:opacity-0">
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

export function MenuAction({ icon: Icon, onSelect, children }: { icon: LucideIcon; onSelect: () => void; children: ReactNode }) {
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

/** A line that is on or off; the menu stays open, since the next one may follow. */
export function MenuCheck({
  checked,
  onChange,
  children,
}: {
  checked: boolean;
  onChange: (checked: boolean) => void;
  children: ReactNode;
}) {
  return (
    <Base.CheckboxItem className={item} checked={checked} onCheckedChange={onChange} closeOnClick={false}>
      <Check className={cn("text-meta", !checked && "invisible")} />
      {children}
    </Base.CheckboxItem>
  );
}
