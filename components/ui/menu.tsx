"use client";

import { Menu as Base } from "@base-ui/react/menu";
import { Check, type LucideIcon } from "lucide-react";
import Link from "next/link";
import type { ReactElement, ReactNode } from "react";

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
        <Base.Positioner className="menu-area" side={side} align="start" sideOffset={6} positionMethod="fixed">
          <Base.Popup className="menu">{children}</Base.Popup>
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
    <Base.LinkItem className="menu-item" closeOnClick render={<Link href={href} aria-current={current || undefined} />}>
      {Icon && <Icon className="i" />}
      {children}
    </Base.LinkItem>
  );
}

export function MenuAction({ icon: Icon, onSelect, children }: { icon: LucideIcon; onSelect: () => void; children: ReactNode }) {
  return (
    <Base.Item className="menu-item" onClick={onSelect}>
      <Icon className="i" />
      {children}
    </Base.Item>
  );
}

export function MenuSeparator() {
  return <Base.Separator className="menu-hr" />;
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
    <Base.CheckboxItem className="menu-item" checked={checked} onCheckedChange={onChange} closeOnClick={false}>
      <Check className={checked ? "i" : "i invisible"} />
      {children}
    </Base.CheckboxItem>
  );
}
