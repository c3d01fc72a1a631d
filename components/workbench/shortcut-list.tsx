"use client";

import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Kbd } from "#components/ui/kbd.tsx";
import type { ShortcutsDialogProps } from "./shortcuts.tsx";

/** A screen's keys, in a dialog. */
export function ShortcutList({ table, open, onOpenChange }: ShortcutsDialogProps) {
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
