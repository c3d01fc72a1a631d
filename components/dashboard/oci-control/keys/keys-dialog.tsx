"use client";

import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose } from "#components/ui/dialog.tsx";

const keys = ["/", "j k", "Enter", "x", "r", "u", "Esc", "?"] as const;
const words = { "/": "search", "j k": "move", Enter: "open", x: "select", r: "retry", u: "undo", Esc: "close", "?": "help" } as const;

export function KeysDialog({ open, onOpenChange, mayAct }: { open: boolean; onOpenChange: (open: boolean) => void; mayAct: boolean }) {
  const t = useTranslations("oci.keys");
  const shown = keys.filter((key) => mayAct || !["x", "r", "u"].includes(key));
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("title")} description={t("sleep")}>
      <dl className="keys">
        {shown.map((key) => (
          <div key={key} className="contents">
            <dt className="row">
              {key.split(" ").map((each) => (
                <kbd key={each}>{each}</kbd>
              ))}
            </dt>
            <dd>{t(words[key])}</dd>
          </div>
        ))}
      </dl>
      <div className="dialog-f">
        <DialogClose render={<Button tone="primary" />}>{t("understood")}</DialogClose>
      </div>
    </Dialog>
  );
}
