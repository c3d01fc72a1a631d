"use client";

import { Download, Keyboard } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button, ButtonAnchor } from "#components/ui/button.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { Segments } from "#components/ui/segmented.tsx";
import { LiveMark } from "#components/workbench/live/live-mark.tsx";
import { UndoLabel } from "#components/workbench/undo-label.tsx";
import { apiFilter, type ControlView, spanDays } from "#lib/oci/queue/view.ts";
import { daysExportUrl, exportUrl } from "./control-api.ts";
import { useControl } from "./control-context.tsx";

interface BarProps {
  version: string;
  view: ControlView;
  onTab: (tab: ControlView["tab"]) => void;
  onHelp: () => void;
}

/** The title, how fresh it is, and what belongs to the whole page. */
export function ControlBar({ version, view: { tab, filter, span }, onTab, onHelp }: BarProps) {
  const t = useTranslations("oci");
  const word = useTranslations();
  const { site, now, actions } = useControl();
  const isDays = tab === "days";
  const csvHref = isDays ? daysExportUrl(site.siteId, spanDays(span, site.timezone, now)) : exportUrl(site.siteId, apiFilter(filter, now));
  return (
    <PageHeader title={word("nav.ociControl")} note={<LiveMark siteId={site.siteId} of="queue" version={version} />}>
      {actions.last && Date.parse(actions.last.undoUntil) > now.getTime() && (
        <Button tone="ghost" className="h-auto whitespace-normal" onClick={actions.undo}>
          <UndoLabel what={t(`actions.undo.${actions.last.action}`, { count: actions.last.affected })} until={actions.last.undoUntil} />
        </Button>
      )}
      <Segments aria-label={word("labels.view")}>
        {(["queue", "days", "export"] as const).map((each) => (
          <button key={each} type="button" aria-pressed={tab === each} onClick={() => onTab(each)}>
            {t(`tabs.${each}`)}
          </button>
        ))}
      </Segments>
      <ButtonAnchor href={csvHref} download aria-label={t(isDays ? "csvDaysLabel" : "csvLabel")} suppressHydrationWarning>
        <Download />
        <span className="max-desk:hidden">{word("actions.csv")}</span>
      </ButtonAnchor>
      <Button tone="ghost" icon className="max-desk:hidden" aria-label={word("workbench.keys.title")} onClick={onHelp}>
        <Keyboard />
      </Button>
    </PageHeader>
  );
}
