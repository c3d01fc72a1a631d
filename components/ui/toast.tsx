"use client";

import { CSPProvider } from "@base-ui/react/csp-provider";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import { latePart } from "./late-part.tsx";
import type { ToastCalls, ToastOptions } from "./popups/toast-list.tsx";

const List = latePart(() => import("./popups/toast-list.tsx").then(({ ToastList }) => ToastList));
const ToastContext = createContext<ToastCalls>({ add: () => "", close: () => {} });

/** After the page itself has loaded. */
const afterPageMs = 2_000;

/** Loads the list before it is wanted: that the connection is gone must be told without one. Whoever presses something sooner gets it sooner. */
function loadSoon(): () => void {
  const timer = setTimeout(List.load, afterPageMs);
  window.addEventListener("pointerdown", List.load, { once: true });
  return () => {
    clearTimeout(timer);
    window.removeEventListener("pointerdown", List.load);
  };
}

/** Results of actions, announced politely in the corner. Base UI may not add <style> elements: the page's policy forbids them. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [isWanted, setWanted] = useState(false);
  useEffect(loadSoon, []);
  const list = useRef<ToastCalls>(null);
  const early = useRef<(ToastOptions & { id: string })[]>([]);
  const calls = useMemo<ToastCalls>(() => {
    let count = 0;
    return {
      add: (options) => {
        const toast = { ...options, id: `toast-${++count}` };
        if (list.current) list.current.add(toast);
        else early.current.push(toast);
        setWanted(true);
        return toast.id;
      },
      close: (id) => {
        early.current = early.current.filter((toast) => toast.id !== id);
        list.current?.close(id);
      },
    };
  }, []);
  /** The list is there: it gets what came before it. */
  const onReady = useMemo(
    () => (ready: ToastCalls) => {
      list.current = ready;
      for (const toast of early.current.splice(0)) ready.add(toast);
    },
    [],
  );
  return (
    <CSPProvider disableStyleElements>
      <ToastContext value={calls}>
        {children}
        <List.Part isWanted={isWanted} onReady={onReady} />
      </ToastContext>
    </CSPProvider>
  );
}

interface ToastAction {
  label: ReactNode;
  onPress: () => void;
}

/** `done` leaves by itself; `failed` stays until it is closed. */
export function useToast() {
  const toasts = useContext(ToastContext);
  const actionProps = (action?: ToastAction) => (action ? { children: action.label, onClick: action.onPress } : undefined);
  return {
    /** What can be taken back stays longer (`shownMs`). */
    done: (result: ReactNode, action?: ToastAction, shownMs?: number) =>
      toasts.add({ title: result, actionProps: actionProps(action), ...(shownMs && { timeout: shownMs }) }),
    close: (id: string) => toasts.close(id),
    failed: (reason: ReactNode, action?: ToastAction) =>
      toasts.add({ type: "error", title: reason, timeout: 0, actionProps: actionProps(action) }),
  };
}
