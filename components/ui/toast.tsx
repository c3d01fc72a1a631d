"use client";

import { CSPProvider } from "@base-ui/react/csp-provider";
import { Toast as Base } from "@base-ui/react/toast";
import { CircleCheck, CircleX, X } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";

const resultShownMs = 6000;
const look =
  "flex items-center gap-2.5 rounded-lg bg-surface-pop py-2.75 pr-2.5 pl-3.5 text-sm shadow-lg transition-[opacity,translate] unseen:translate-y-2 unseen:opacity-0 data-limited:hidden";

/** Results of actions, announced politely in the corner. Base UI may not add <style> elements: the page's policy forbids them. */
export function ToastProvider({ children }: { children: ReactNode }) {
  return (
    <CSPProvider disableStyleElements>
      <Base.Provider timeout={resultShownMs}>
        {children}
        <Base.Portal>
          <ToastList />
        </Base.Portal>
      </Base.Provider>
    </CSPProvider>
  );
}

function ToastList() {
  const t = useTranslations();
  const { toasts } = Base.useToastManager();
  return (
    <Base.Viewport
      className="fixed right-4 bottom-4 z-60 grid w-[min(400px,calc(100vw-32px))] gap-2 outline-none max-desk:right-2 max-desk:bottom-[calc(var(--spacing-tabbar)+8px)] max-desk:left-2 max-desk:w-auto"
      aria-label={t("ui.notifications")}
    >
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
          {toast.actionProps && <Base.Action render={<Button size="sm" />} />}
          <Base.Close render={<Button tone="ghost" icon size="sm" aria-label={t("actions.close")} />}>
            <X className="size-3.5" />
          </Base.Close>
        </Base.Root>
      ))}
    </Base.Viewport>
  );
}

interface ToastAction {
  label: ReactNode;
  onPress: () => void;
}

/** `done` leaves by itself; `failed` stays until it is closed. */
export function useToast() {
  const manager = Base.useToastManager();
  const actionProps = (action?: ToastAction) => (action ? { children: action.label, onClick: action.onPress } : undefined);
  return {
    /** What can be taken back stays longer (`shownMs`). */
    done: (result: ReactNode, action?: ToastAction, shownMs?: number) =>
      manager.add({ title: result, actionProps: actionProps(action), ...(shownMs && { timeout: shownMs }) }),
    close: (id: string) => manager.close(id),
    failed: (reason: ReactNode, action?: ToastAction) =>
      manager.add({ type: "error", title: reason, timeout: 0, actionProps: actionProps(action) }),
  };
}
