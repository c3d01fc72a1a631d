"use client";

import { latePart } from "#components/ui/late-part.tsx";
import { useKeys } from "#components/ui/use-keys.ts";

/** One line of a screen's key table: it makes the keys work and fills the help. */
export interface Shortcut {
  /** As the help shows them: "J K". */
  keys: string;
  label: string;
  /** By the key as the browser names it. Without it the browser or a dialog does it. */
  does?: Record<string, () => void>;
}

export const useShortcuts = (table: readonly Shortcut[]) => useKeys(Object.assign({}, ...table.map(({ does }) => does)));

export interface ShortcutsDialogProps {
  table: readonly Shortcut[];
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

const List = latePart(() => import("./shortcut-list.tsx").then(({ ShortcutList }) => ShortcutList));

export const ShortcutsDialog = (props: ShortcutsDialogProps) => <List.Part isWanted={props.open} {...props} />;
