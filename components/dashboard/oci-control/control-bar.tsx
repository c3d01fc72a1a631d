"use client";

import { Download, Keyboard } from "lucide-react";
import { useTranslations } from "next-intl";
import { UndoLabel } from "#components/dashboard/oci-control/actions/undo-label.tsx";
import { LiveNote } from "#components/dashboard/oci-control/live/live-note.tsx";
import { Button } from "#components/ui/button.tsx";
import type { ControlView } from "#lib/oci/queue/view.ts";

interface BarProps {
  tab: ControlView["tab"];
  freshAt: string;
  csvHref: string;
  /** Until when the last action can be taken back. */
  undoUntil: string | null;
  onTab: (tab: ControlView["tab"]) => void;
  onUndo: () => void;
  onHelp: () => void;
}

/** The title, how fresh it is, and what belongs to the whole page. */
export function ControlBar({ tab, freshAt, csvHref, undoUntil, onTab, onUndo, onHelp }: BarProps) {
  const t = useTranslations("oci");
  return (
    <header className="bar">
      <h1>{t("title")}</h1>
      <LiveNote freshAt={freshAt} />
      <span className="end">
        {undoUntil && (
          <Button tone="ghost" onClick={onUndo}>
            <UndoLabel until={undoUntil} />
          </Button>
        )}
        <fieldset className="seg" aria-label={t("tabs.label")}>
          {(["queue", "days", "export"] as const).map((each) => (
            <button key={each} type="button" aria-pressed={tab === each} onClick={() => onTab(each)}>
              {t(`tabs.${each}`)}
            </button>
          ))}
        </fieldset>
        <a className="btn" href={csvHref} download aria-label={t(tab === "days" ? "csvDaysLabel" : "csvLabel")} suppressHydrationWarning>
          <Download className="i" />
          <span className="desk-only">{t("csv")}</span>
        </a>
        <Button tone="ghost" icon className="desk-only" aria-label={t("keys.title")} onClick={onHelp}>
          <Keyboard className="i" />
        </Button>
      </span>
    </header>
  );
}
