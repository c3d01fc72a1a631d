"use client";

import { useLocale } from "next-intl";
import { createContext, type ReactNode, useContext, useMemo } from "react";
import { type ControlFormat, controlFormat } from "./control-format.ts";

export interface ControlSite {
  publicId: string;
  currency: string;
  timezone: string;
  ociSyncMethod: "script" | "api";
  role: "owner" | "operator" | "viewer";
  /** Archived sites can be read only. */
  isArchived: boolean;
}

/** Who may change rows here. */
export const mayActOn = ({ role, isArchived }: ControlSite) => role !== "viewer" && !isArchived;

interface Control {
  site: ControlSite;
  /** Moves on every few seconds: ages in a table are minutes. The first value is the server's. */
  now: Date;
  blocked: ReadonlySet<string>;
  /** False: the site sends by API and has no Google Ads account. */
  isConnected: boolean;
  /** How long after sending Google is first asked for its verdict. */
  firstPollSeconds: number;
}

const Context = createContext<(Control & { format: ControlFormat }) | null>(null);

export function ControlProvider({ children, site, now, blocked, isConnected, firstPollSeconds }: Control & { children: ReactNode }) {
  const locale = useLocale();
  const format = useMemo(() => controlFormat(locale, site, now), [locale, site, now]);
  const control = useMemo(
    () => ({ site, now, blocked, isConnected, firstPollSeconds, format }),
    [site, now, blocked, isConnected, firstPollSeconds, format],
  );
  return <Context value={control}>{children}</Context>;
}

function useContextValue() {
  const control = useContext(Context);
  if (!control) throw new Error("This part belongs inside OCI Control.");
  return control;
}

export function useControl(): Control & { mayAct: boolean } {
  const { format: _, ...control } = useContextValue();
  return { ...control, mayAct: mayActOn(control.site) };
}

export const useControlFormat = (): ControlFormat => useContextValue().format;
