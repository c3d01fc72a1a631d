"use client";

import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Kbd } from "#components/ui/kbd.tsx";
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

interface DialogProps {
  table: readonly Shortcut[];
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

export function ShortcutsDialog({ table, open, onOpenChange }: DialogProps) {
  const t = useTranslations();
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("workbench.keys.title")} description={t("workbench.keys.sleep")}>
      <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-2 text-sm">
        {table.map(({ keys, label }) => (
          <div key={keys} className="contents">
            <dt className="flex items-center gap-2">
              {keys.split(" ").map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <DialogFoot>
        <DialogClose render={<Button tone="primary" />}>{t("actions.understood")}</DialogClose>
      </DialogFoot>
    </Dialog>
  );
}
