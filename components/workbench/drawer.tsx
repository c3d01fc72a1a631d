"use client";

import { Check, ChevronDown, ChevronUp, Link2, type LucideIcon, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ReactNode, type RefObject, useRef, useState } from "react";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { latePart } from "#components/ui/late-part.tsx";
import { usePhone } from "./use-phone.ts";

const frame =
  "fixed top-0 right-0 z-20 flex h-dvh w-[min(440px,100vw)] flex-col border-line-2 border-l bg-surface-1 outline-none max-[1240px]:shadow-lg max-desk:inset-0 max-desk:z-30 max-desk:h-auto max-desk:w-auto max-desk:border-0 max-desk:shadow-none";

const OnPhone = latePart(() => import("./drawer-dialog.tsx").then(({ DrawerDialog }) => DrawerDialog));

interface DrawerProps {
  title: string;
  /** Stands in the head. */
  name: ReactNode;
  /** Null when the row is not one of the list. */
  onStep: ((step: 1 | -1) => void) | null;
  onClose: () => void;
  foot: ReactNode;
  children: ReactNode;
}

/** One row's whole story, beside the list; on a phone it is a page over it that Back closes. */
export function Drawer({ title, name, onStep, onClose, foot, children }: DrawerProps) {
  const isPhone = usePhone();
  const closeButton = useRef<HTMLButtonElement>(null);
  useBackCloses(isPhone, onClose);
  const content = (
    <>
      <DrawerHead name={name} onStep={onStep} onClose={onClose} closeButton={closeButton} />
      <div className="min-h-0 flex-1 overflow-auto px-5 pt-4 pb-6 [scrollbar-color:var(--color-line-2)_transparent] [scrollbar-width:thin] max-desk:p-4">
        {children}
      </div>
      {foot && (
        <div className="flex flex-wrap items-center gap-2 border-line-1 border-t px-5 py-3 max-desk:px-4 max-desk:pb-[calc(--spacing(3)+env(safe-area-inset-bottom))] max-desk:*:[button]:flex-1">
          {foot}
        </div>
      )}
    </>
  );
  if (!isPhone) {
    return (
      <aside data-slot="drawer" className={frame} aria-label={title}>
        {content}
      </aside>
    );
  }
  return (
    <OnPhone.Part isWanted title={title} className={frame} initialFocus={closeButton} onClose={onClose}>
      {content}
    </OnPhone.Part>
  );
}

type HeadProps = Pick<DrawerProps, "name" | "onStep" | "onClose"> & { closeButton: RefObject<HTMLButtonElement | null> };

function DrawerHead({ name, onStep, onClose, closeButton }: HeadProps) {
  const t = useTranslations("workbench.drawer");
  const word = useTranslations();
  const [isCopied, setCopied] = useState(false);
  const copy = () =>
    navigator.clipboard.writeText(window.location.href).then(
      () => setCopied(true),
      () => setCopied(false), // the address bar has it
    );
  const step = (by: 1 | -1, key: "previous" | "next", Icon: LucideIcon) => (
    <Button tone="ghost" size="sm" icon aria-label={t(key)} title={t(`${key}Key`)} onClick={() => onStep?.(by)}>
      <Icon className="size-4" />
    </Button>
  );
  return (
    <div className="flex min-h-13 items-center gap-1 border-line-1 border-b pr-3 pl-5 max-desk:min-h-14 max-desk:pr-2 max-desk:pl-4">
      {name}
      {onStep && step(-1, "previous", ChevronUp)}
      {onStep && step(1, "next", ChevronDown)}
      <Button
        tone="ghost"
        size="sm"
        icon
        aria-label={t(isCopied ? "linkCopied" : "copyLink")}
        onClick={copy}
        onBlur={() => setCopied(false)}
      >
        {isCopied ? <Check className="size-4 text-completed" /> : <Link2 className="size-4" />}
      </Button>
      <Button ref={closeButton} tone="ghost" size="sm" icon aria-label={word("actions.close")} onClick={onClose}>
        <X className="size-4" />
      </Button>
    </div>
  );
}

/** A part of the story, divided from the one before. */
export function DrawerSection({ title, end, children }: { title?: ReactNode; end?: ReactNode; children: ReactNode }) {
  return (
    <section className="not-first:mt-5 not-first:border-line-1 not-first:border-t not-first:pt-5">
      {title && (
        <div className="mb-2.5 flex items-center gap-2">
          <h3 className="min-w-0 flex-1 font-semibold text-base tracking-[-0.003em]">{title}</h3>
          {end}
        </div>
      )}
      {children}
    </section>
  );
}
