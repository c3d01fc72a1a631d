"use client";

import { useRouter } from "next/navigation";
import { useTranslations } from "next-intl";
import { useEffect, useState, useTransition } from "react";
import { useNavCount } from "#components/shell/nav-counts.tsx";
import { useNow } from "#components/workbench/live/clock.tsx";
import { useAddress } from "#components/workbench/use-address.ts";
import type { ControlPage } from "#lib/oci/queue/page.ts";
import { needsPerson } from "#lib/oci/queue/row-state.ts";
import { countOf, readView, type ViewFilter, writeView } from "#lib/oci/queue/view.ts";
import { ActionDialog } from "./actions/action-dialog.tsx";
import { RunBar } from "./actions/run-bar.tsx";
import { useActions } from "./actions/use-actions.tsx";
import { ControlBar } from "./control-bar.tsx";
import { ControlProvider } from "./control-context.tsx";
import { type ControlSite, mayActOn } from "./control-site.ts";
import { DaysReport } from "./days/days-report.tsx";
import { ExportPreview } from "./export/export-preview.tsx";
import { QueueTab } from "./queue-tab.tsx";

interface OciControlProps {
  site: ControlSite;
  version: string;
  drawn: ControlPage;
}

/** How often ages in the table move on. */
const ageMs = 10_000;

/** Every conversion of a site: its state, why it failed, what to do, and the button that does it. */
export function OciControl({ site, version, drawn }: OciControlProps) {
  const t = useTranslations("oci");
  const router = useRouter();
  const [, startRefresh] = useTransition();
  const now = useNow(ageMs);
  const address = useAddress({ read: readView, write: writeView });
  const { view } = address;
  const { stats, queue, days, preview } = drawn;
  const actions = useActions({ site, kept: drawn.last, onChanged: () => startRefresh(() => router.refresh()) });
  const [isHelping, setHelping] = useState(false);
  const warnings = needsPerson(stats);
  const [, setWarnings] = useNavCount("ociControl", site.siteId);
  useEffect(() => setWarnings(warnings), [setWarnings, warnings]);
  return (
    <ControlProvider
      site={site}
      stats={stats}
      now={now}
      firstPollSeconds={drawn.firstPollSeconds}
      actions={actions}
      filterBy={(filter: ViewFilter) => address.show({ filter, row: null })}
      linkToRow={(row) => address.linkTo({ row })}
      openRow={(row) => (view.row ? address.slide({ row }) : address.open({ row }))}
    >
      <ControlBar version={version} view={view} onTab={(tab) => address.show({ tab, row: null })} onHelp={() => setHelping(true)} />
      <div className="grid content-start gap-3 max-desk:has-data-[slot=bulk-bar]:pb-27.5 max-desk:has-data-[slot=run-bar]:pb-45">
        <p className="sr-only" aria-live="polite">
          {t("announce", { failed: countOf(stats, "FAILED"), stuck: stats.stuckProcessing, waiting: countOf(stats, "WAITING") })}
        </p>
        {queue && <QueueTab drawn={queue} version={version} address={address} isHelping={isHelping} onHelp={setHelping} />}
        {days && (
          <DaysReport
            report={days}
            span={view.span}
            onSpan={(span) => address.adjust({ span })}
            linkTo={(filter) => address.linkTo({ tab: "queue", filter, row: null })}
          />
        )}
        {!queue && !days && <ExportPreview preview={preview} onAgain={() => startRefresh(() => router.refresh())} />}
        {mayActOn(site) && <RunBar />}
      </div>
      <ActionDialog />
    </ControlProvider>
  );
}
