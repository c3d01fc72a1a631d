"use client";

import { CSPProvider } from "@base-ui/react/csp-provider";
import { Toast as Base } from "@base-ui/react/toast";
import { CircleCheck, CircleX, X } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";

const resultShownMs = 6000;

/** Results of deeds, announced politely at the corner. Base UI may not add <style> elements: the page's policy forbids them. */
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
  const t = useTranslations("ui");
  const { toasts } = Base.useToastManager();
  return (
    <Base.Viewport className="toasts" aria-label={t("notifications")}>
      {toasts.map((toast) => (
        <Base.Root key={toast.id} toast={toast} className="toast" swipeDirection={["down", "right"]}>
          <Base.Content className="toast-b">
            {toast.type === "error" ? <CircleX className="i fg-failed" /> : <CircleCheck className="i fg-completed" />}
            <Base.Title className="grow" render={<div />} />
          </Base.Content>
          {toast.actionProps && <Base.Action render={<Button size="sm" />} />}
          <Base.Close render={<Button tone="ghost" icon size="sm" aria-label={t("close")} />}>
            <X className="i i-14" />
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
