"use client";

import { Toast as Base } from "@base-ui/react/toast";
import { CircleCheck, CircleX, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ComponentProps, type ReactNode, useEffect } from "react";
import { Button } from "../button.tsx";

export interface ToastOptions {
  id?: string;
  type?: string;
  title: ReactNode;
  /** 0: until somebody closes it. */
  timeout?: number;
  actionProps?: ComponentProps<"button"> | undefined;
}

export interface ToastCalls {
  add: (options: ToastOptions) => string;
  close: (id: string) => void;
}

const resultShownMs = 6000;
const look =
  "flex items-center gap-2.5 rounded-lg bg-surface-pop py-2.75 pr-2.5 pl-3.5 text-sm shadow-lg transition-[opacity,translate] unseen:translate-y-2 unseen:opacity-0 data-limited:hidden";

/** In the corner, but never over a button: beside an open drawer, above the bar of a selection; on a phone then at the top. */
const place = [
  "fixed right-4 bottom-4 z-60 grid w-[min(400px,calc(100vw-32px))] gap-2 outline-none max-desk:right-2 max-desk:bottom-[calc(var(--spacing-tabbar)+8px)] max-desk:left-2 max-desk:w-auto",
  "desk:in-[body:has([data-slot=drawer])]:right-114 desk:in-[body:has([data-slot=drawer])]:w-[min(400px,calc(100vw-488px))]",
  "desk:in-[body:has([data-slot=bulk-bar],[data-slot=run-bar])]:bottom-30",
  "max-desk:in-[body:has([data-slot=drawer],[data-slot=bulk-bar],[data-slot=run-bar])]:top-17 max-desk:in-[body:has([data-slot=drawer],[data-slot=bulk-bar],[data-slot=run-bar])]:bottom-auto",
].join(" ");

/** The corner where toasts stand; loaded after the page, drawn with the first one. */
export function ToastList({ onReady }: { onReady: (calls: ToastCalls) => void }) {
  return (
    <Base.Provider timeout={resultShownMs}>
      <Base.Portal>
        <Toasts onReady={onReady} />
      </Base.Portal>
    </Base.Provider>
  );
}

function Toasts({ onReady }: { onReady: (calls: ToastCalls) => void }) {
  const t = useTranslations();
  const { toasts, add, close } = Base.useToastManager();
  useEffect(() => onReady({ add, close }), [onReady, add, close]);
  return (
    <Base.Viewport className={place} aria-label={t("ui.notifications")}>
      {toasts.map((toast) => (
        <Base.Root key={toast.id} toast={toast} className={look} swipeDirection={["down", "right"]}>
          <Base.Content className="flex min-w-0 flex-1 items-center gap-2.5">
            {toast.type === "error" ? (
              <CircleX className="mt-px self-start text-failed" />
            ) : (
              <CircleCheck className="mt-px self-start text-completed" />
            )}
            <Base.Title className="min-w-0 flex-1" render={<div />} />
          </Base.Content>
          {toast.actionProps && <Base.Action render={<Button size="sm" className="h-auto max-w-[58%] whitespace-normal" />} />}
          <Base.Close render={<Button tone="ghost" icon size="sm" aria-label={t("actions.close")} />}>
            <X className="size-3.5" />
          </Base.Close>
        </Base.Root>
      ))}
    </Base.Viewport>
  );
}
