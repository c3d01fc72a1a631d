"use client";

import { createContext, useContext } from "react";
import type { DeskFormat } from "#lib/i18n/desk-format.ts";
import type { AmountPreset, DeskRules } from "#lib/leads/desk-shapes.ts";
import type { SiteId } from "#lib/site.ts";
import type { LeadActions } from "./use-lead-actions.tsx";

export interface DeskTools {
  siteId: SiteId;
  timeZone: string;
  currency: string;
  /** Viewers see everything and no action. */
  canAct: boolean;
  isOffline: boolean;
  rules: DeskRules;
  presets: AmountPreset[];
  format: DeskFormat;
  actions: LeadActions;
}

const DeskContext = createContext<DeskTools | null>(null);

export const DeskProvider = DeskContext.Provider;

export function useDesk(): DeskTools {
  const tools = useContext(DeskContext);
  if (!tools) throw new Error("This part stands on the desk only.");
  return tools;
}
