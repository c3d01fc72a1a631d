"use client";

import { Keyboard } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { useEffect, useMemo, useRef, useState } from "react";
import { isPhone } from "#components/history/layers.ts";
import { useNavCount } from "#components/shell/nav-counts.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { PageBar } from "#components/ui/page-header.tsx";
import { SearchBox } from "#components/workbench/filter/search-box.tsx";
import { useServerTime } from "#components/workbench/live/clock.tsx";
import { LiveMark } from "#components/workbench/live/live-mark.tsx";
import { useDetail } from "#components/workbench/live/use-detail.ts";
import { useOffline } from "#components/workbench/live/use-offline.ts";
import { focusedRow } from "#components/workbench/row-focus.ts";
import { type Shortcut, ShortcutsDialog, useShortcuts } from "#components/workbench/shortcuts.tsx";
import { useAddress } from "#components/workbench/use-address.ts";
import { usePhone } from "#components/workbench/use-phone.ts";
import { type DeskFormat, deskFormat } from "#lib/i18n/desk-format.ts";
import type { DeskFilter } from "#lib/leads/desk-filter.ts";
import { type FilterText, filterQuery } from "#lib/leads/desk-query.ts";
import type { AmountPreset, DeskFigures, DeskPage, LeadDetail as Detail } from "#lib/leads/desk-shapes.ts";
import type { SiteId } from "#lib/site.ts";
import { DeskProvider } from "./desk-context.tsx";
import { deskGrid } from "./desk-look.ts";
import type { ChartFigure } from "./figures/figure-list.ts";
import { FiguresCard } from "./figures/figures-card.tsx";
import { LeadDetail } from "./lead/lead-detail.tsx";
import { EmptyList } from "./list/empty-list.tsx";
import { LeadList } from "./list/lead-list.tsx";
import { isOlderLead, isOpen } from "./list/lead-state.ts";
import { ListHead } from "./list/list-head.tsx";
import { useLeads } from "./list/use-leads.ts";
import { readLead } from "./read-leads.ts";
import { SealSheet } from "./seal/seal-sheet.tsx";
import { SecondSaleDialog } from "./seal/second-sale-dialog.tsx";
import { UndoLast } from "./seal/undo-button.tsx";
import { type DeskView, useChosenLead } from "./use-chosen-lead.ts";
import { useLeadActions } from "./use-lead-actions.tsx";

export interface DeskProps {
  site: { siteId: SiteId; timezone: string; currency: string; version: string; canAct: boolean; mayInstall: boolean };
  filter: DeskFilter;
  page: DeskPage;
  figures: DeskFigures;
  presets: AmountPreset[];
  figure: ChartFigure;
  /** The lead that the address names, or the first one. */
  first: Detail | null;
  /** The address names a lead that this site does not have. */
  isLeadMissing: boolean;
}

function readView(params: URLSearchParams): DeskView {
  const { lead, figure, days, ...filter } = Object.fromEntries(params);
  return { filter, lead, figure, days };
}
const writeView = ({ filter, lead, figure, days }: DeskView) => filterQuery(filter, { lead, figure, days });

/** The last digits of a number, as they stand on the operator's telephone. One digit would find everybody. */
function readEnding(text: string): string | undefined {
  const digits = text.replace(/\D/g, "").slice(-7);
  return digits.length >= 2 ? digits : text.trim() === "" ? "" : undefined;
}

/** The list, the lead in view and what can be done with it. */
function useDeskLeads({ site: { siteId, version, currency }, filter, page, first, figures }: DeskProps, format: DeskFormat) {
  const listRef = useRef<HTMLDivElement>(null);
  const of = filterQuery(filter);
  const address = useAddress({ read: readView, write: writeView });
  const leads = useLeads({ siteId, page, of, list: listRef });
  const isListed = (id: string) => [...page.leads, ...page.needsYou].some((lead) => lead.id === id);
  const chosen = useChosenLead({ address, of, firstId: first?.id ?? null, isListed });
  const given = useMemo(() => first && { id: first.id, value: first }, [first]);
  const detail = useDetail({ id: chosen.id, given, version, read: (id) => readLead(siteId, id), isOlder: isOlderLead });
  const onRead = (read: Detail) => {
    leads.patch(read);
    detail.take(read.id, read);
  };
  const actions = useLeadActions({ siteId, currency, format, rules: figures.rules, leads, onRead });
  const lead = leads.find(chosen.id) ?? (detail.value && leads.over(detail.value));
  return { address, leads, chosen, actions, lead, detail: detail.value, listRef };
}

/** The screen an operator has open all day. */
export function Desk(props: DeskProps) {
  const { site, filter, page, figures, presets, figure, isLeadMissing } = props;
  const t = useTranslations("desk");
  const word = useTranslations();
  const locale = useLocale();
  const { siteId, timezone: timeZone, currency, canAct } = site;
  const format = useMemo(() => deskFormat(locale, timeZone), [locale, timeZone]);
  const { address, leads, chosen, actions, lead, detail, listRef } = useDeskLeads(props, format);
  const searchRef = useRef<HTMLInputElement>(null);
  const panelRef = useRef<HTMLElement>(null);
  const isOffline = useOffline();
  const serverTime = useServerTime();
  const [isHelping, setHelping] = useState(false);
  const base = sitePath(siteId);
  const isOnPhone = usePhone();
  // The panel of a decided lead offers its undo itself.
  const isInPanel = lead !== null && page.lastStep?.leadId === lead.id && !isOpen(lead) && (!isOnPhone || chosen.isInSheet);
  const lastStep = isInPanel || actions.undone.has(page.lastStep?.undo.proofId ?? "") ? null : page.lastStep;
  const show = (next: FilterText) => address.show({ filter: next, lead: undefined, figure: undefined });
  const [, setOpenCount] = useNavCount("today", siteId);
  useEffect(() => setOpenCount(page.open), [page.open, setOpenCount]);

  const open = () => {
    const row = focusedRow() ?? chosen.id;
    if (row && (isPhone() || row !== chosen.id)) chosen.choose(row);
    panelRef.current?.focus();
  };
  const undo = () => {
    const isShown = canAct && !isOffline && lead?.undo && Date.parse(lead.undo.until) > serverTime().getTime();
    if (isShown) actions.undo(lead);
  };
  const shortcuts: Shortcut[] = [
    { keys: "/", label: t("search"), does: { "/": () => searchRef.current?.focus() } },
    { keys: "J K", label: t("help.move"), does: { j: () => chosen.step(1), k: () => chosen.step(-1) } },
    { keys: "Enter", label: t("help.open"), does: { Enter: open } },
    { keys: "S", label: t("help.seal") }, // the panel on the screen does it, and junk
    { keys: "X", label: word("actions.markJunk") },
    { keys: "U", label: t("help.undo"), does: { u: undo } },
    { keys: "?", label: t("help.help"), does: { "?": () => setHelping(true) } },
    { keys: "Esc", label: word("actions.close") },
  ];
  useShortcuts(shortcuts);

  return (
    <DeskProvider value={{ siteId, timeZone, currency, canAct, isOffline, rules: figures.rules, presets, format, actions }}>
      <PageBar className="max-desk:flex-nowrap">
        <h1 className="max-desk:sr-only">{word("nav.today")}</h1>
        <span className="text-sm text-meta max-desk:hidden">
          {format.plainDay(figures.today, { weekday: "long", day: "numeric", month: "long" })}
        </span>
        <span className="ml-auto flex items-center gap-2 max-desk:m-0 max-desk:w-full max-desk:flex-row-reverse">
          <LiveMark siteId={siteId} of="leads" version={site.version} />
          <SearchBox
            box={searchRef}
            value={filter.phone ?? ""}
            label={t("search")}
            placeholder={t("searchHint")}
            inputMode="tel"
            read={readEnding}
            onSearch={(phone) => show(phone ? { phone } : { ...filter, phone: undefined })}
          />
          <Button
            tone="ghost"
            icon
            className="max-desk:hidden"
            aria-label={word("workbench.keys.title")}
            aria-keyshortcuts="?"
            onClick={() => setHelping(true)}
          >
            <Keyboard />
          </Button>
        </span>
      </PageBar>
      {isOffline && <Alert tone="retry" className="mb-4" title={t("offline")} />}
      {isLeadMissing && (
        <Alert tone="retry" className="mb-4" title={t("detail.missing")}>
          {t("detail.missingBody")}
        </Alert>
      )}
      {lastStep && (
        <div className="-mt-2 mb-2 flex justify-end max-desk:mt-1 max-desk:justify-start">
          <UndoLast step={lastStep} />
        </div>
      )}
      <FiguresCard figures={figures} open={page.open} chosen={figure} linkTo={(days) => address.linkTo({ days })} />
      <div className={deskGrid}>
        <Card
          className="group relative max-desk:-mx-4 max-desk:rounded-none max-desk:border-x-0"
          aria-label={t("list.label")}
          aria-busy={address.isTurning}
        >
          <ListHead filter={filter} base={base} open={page.open} figures={figures} onFilter={show} />
          <LeadList
            leads={leads}
            page={page}
            currentId={chosen.id}
            listRef={listRef}
            needsYouHref={base + filterQuery({ ...filter, view: "needs_you" })}
            leadHref={(id) => base + filterQuery(filter, { lead: id })}
            onChoose={chosen.choose}
            empty={
              <EmptyList
                filter={filter}
                base={base}
                figures={figures}
                installHref={site.mayInstall ? sitePath(siteId, "/connections") : null}
              />
            }
          />
        </Card>
        <LeadDetail lead={lead} detail={detail} panelRef={panelRef} onStep={chosen.step} onChoose={chosen.choose} />
      </div>
      <SealSheet lead={chosen.isInSheet ? lead : null} detail={detail} onClose={chosen.close} onChoose={chosen.choose} />
      <SecondSaleDialog />
      <ShortcutsDialog table={shortcuts} open={isHelping} onOpenChange={setHelping} />
    </DeskProvider>
  );
}
