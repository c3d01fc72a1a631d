"use client";

import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose } from "#components/ui/dialog.tsx";

const keys = [
  [["/"], "search"],
  [["J", "K"], "move"],
  [["Enter"], "open"],
  [["S"], "seal"],
  [["X"], "junk"],
  [["U"], "undo"],
  [["?"], "help"],
  [["Esc"], "close"],
] as const;

export function HelpDialog({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const t = useTranslations("desk.help");
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("title")} description={t("lead")}>
      <dl className="keys">
        {keys.map(([names, meaning]) => (
          <div key={meaning} className="row">
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd className="grow">{t(meaning)}</dd>
          </div>
        ))}
      </dl>
      <div className="dialog-f">
        <DialogClose render={<Button />}>{t("close")}</DialogClose>
      </div>
    </Dialog>
  );
}
