"use client";

import { createContext, type RefObject, useContext, useLayoutEffect } from "react";
import type { DeskFormat } from "#lib/i18n/desk-format.ts";
import type { AmountPreset, DeskRules } from "#lib/leads/desk-shapes.ts";
import type { LeadActions } from "./use-lead-actions.tsx";

/** What the open panel does when its key is pressed. */
export interface DeskCommands {
  seal?: () => void;
  junk?: () => void;
}

export interface DeskTools {
  siteId: string;
  timeZone: string;
  currency: string;
  /** Viewers see everything and no action. */
  canAct: boolean;
  isOffline: boolean;
  rules: DeskRules;
  presets: AmountPreset[];
  format: DeskFormat;
  actions: LeadActions;
  commands: RefObject<DeskCommands>;
}

const DeskContext = createContext<DeskTools | null>(null);

export const DeskProvider = DeskContext.Provider;

export function useDesk(): DeskTools {
  const tools = useContext(DeskContext);
  if (!tools) throw new Error("This part stands on the desk only.");
  return tools;
}

/** Binds a key to the panel on the screen. In the layout effect, because the panel is seen, and its key pressed, before a plain effect runs. */
export function useCommand(name: keyof DeskCommands, run: () => void): void {
  const { commands } = useDesk();
  useLayoutEffect(() => {
    const own = commands.current;
    own[name] = run;
    return () => {
      if (own[name] === run) delete own[name];
    };
  });
}
