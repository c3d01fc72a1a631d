"use client";

import { useRouter } from "next/navigation";
import { type ReactNode, useRef, useState, useTransition } from "react";
import { useToast } from "#components/ui/toast.tsx";
import type { SendFailure } from "./send-json.ts";
import { useErrorText } from "./use-error-text.ts";
import { useFreshSend } from "./use-fresh-send.ts";

interface SendRequest {
  method: "POST" | "PATCH" | "DELETE";
  url: string;
  body?: unknown;
  /** Said in a toast when it worked. */
  done?: ReactNode | ((value: Record<string, unknown>) => ReactNode);
  onDone?: (value: Record<string, unknown>) => void;
  /** A form shows its failure itself; without this it becomes a toast that stays. */
  onFailed?: (failure: SendFailure) => void;
}

/** Sends a change, says how it went, and lets the page read its data again. `pending` lasts until the new data is here. */
export function useSend() {
  const router = useRouter();
  const toast = useToast();
  const errorText = useErrorText();
  const sendFresh = useFreshSend();
  const [sending, setSending] = useState(false);
  const underWay = useRef(false); // state lags behind a second press in the same moment
  const [refreshing, startRefresh] = useTransition();

  async function send({ method, url, body, done, onDone, onFailed }: SendRequest): Promise<void> {
    if (underWay.current) return;
    underWay.current = true;
    setSending(true);
    const sent = await sendFresh(method, url, body);
    underWay.current = false;
    setSending(false);
    if (!sent.ok) {
      if (onFailed) onFailed(sent);
      else toast.failed(errorText(sent.code));
      return;
    }
    const words = typeof done === "function" ? done(sent.value) : done;
    if (words) toast.done(words);
    onDone?.(sent.value);
    startRefresh(() => router.refresh());
  }

  return { send, pending: sending || refreshing };
}
