"use client";

import { useTranslations } from "next-intl";
import { type Dispatch, useState } from "react";
import { useToast } from "#components/ui/toast.tsx";
import type { DeskEvent } from "../desk-state.ts";

interface Options {
  siteId: string;
  query: string;
  next: string | null;
  /** The asOf of the page that it continues. */
  of: string;
  dispatch: Dispatch<DeskEvent>;
}

/** The next page of the list, below what is there. */
export function useOlderLeads({ siteId, query, next, of, dispatch }: Options) {
  const t = useTranslations("errors");
  const toast = useToast();
  const [isLoading, setLoading] = useState(false);
  async function more(): Promise<void> {
    if (!next) return;
    setLoading(true);
    const parameters = new URLSearchParams(query);
    parameters.set("cursor", next);
    const response = await fetch(`/api/sites/${siteId}/calls?${parameters}`).catch(() => null);
    if (response?.ok)
      dispatch({ type: "older", page: await response.json(), of }); // our own route, checked where it was read
    else toast.failed(t(response ? "INTERNAL" : "OFFLINE"));
    setLoading(false);
  }
  return { more: () => void more(), isLoading };
}
