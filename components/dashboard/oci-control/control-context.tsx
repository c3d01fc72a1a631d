"use client";

import { useLocale } from "next-intl";
import { createContext, type ReactNode, useContext, useMemo } from "react";
import { type Cause, useCause } from "#components/delivery/use-cause.ts";
import { blockedProviders } from "#lib/oci/queue/row-state.ts";
import type { QueueStats } from "#lib/oci/queue/stats.ts";
import type { ViewFilter } from "#lib/oci/queue/view.ts";
import type { Actions } from "./actions/use-actions.tsx";
import { type ControlFormat, controlFormat } from "./control-format.ts";
import { type ControlSite, mayActOn } from "./control-site.ts";

interface Given {
  site: ControlSite;
  stats: QueueStats;
  /** Moves on every few seconds: ages in a table are minutes. */
  now: Date;
  /** How long after sending Google is first asked for its verdict. */
  firstPollSeconds: number;
  actions: Actions;
  filterBy: (filter: ViewFilter) => void;
  /** The address of a row, and the way to it on this page. */
  linkToRow: (id: string) => string;
  openRow: (id: string) => void;
}

interface Control extends Given {
  /** Who may change rows here. */
  mayAct: boolean;
  blocked: ReadonlySet<string>;
  /** False: the site sends by API and has no Google Ads account. */
  isConnected: boolean;
  format: ControlFormat;
  causeOf: (code: string) => Cause;
}

const Context = createContext<Control | null>(null);

export function ControlProvider({ children, ...given }: Given & { children: ReactNode }) {
  const { site, stats, now } = given;
  const locale = useLocale();
  const format = useMemo(() => controlFormat(locale, site, now), [locale, site, now]);
  const blocked = useMemo(() => blockedProviders(stats), [stats]);
  const causeOf = useCause(site.ociSyncMethod);
  const control = { ...given, mayAct: mayActOn(site), blocked, isConnected: stats.connected !== false, format, causeOf };
  return <Context value={control}>{children}</Context>;
}

export function useControl(): Control {
  const control = useContext(Context);
  if (!control) throw new Error("This part belongs inside OCI Control.");
  return control;
}
