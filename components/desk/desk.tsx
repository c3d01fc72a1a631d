"use client";

import { Keyboard } from "lucide-react";
import { useRouter } from "next/navigation";
import { useLocale, useTranslations } from "next-intl";
import { useEffect, useMemo, useReducer, useRef, useState, useTransition } from "react";
import { afterLayers } from "#components/history/layers.ts";
import { useNavCount } from "#components/shell/nav-counts.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Button } from "#components/ui/button.tsx";
import { isAsking, useKeys } from "#components/ui/use-keys.ts";
import { deskFormat } from "#lib/i18n/desk-format.ts";
import { type DeskFilter, filterQuery } from "#lib/leads/desk-filter.ts";
import type { AmountPreset, DeskFigures, DeskPage, LeadDetail as Detail } from "#lib/leads/desk-shapes.ts";
import { useServerTime } from "./desk-clock.tsx";
import { type DeskCommands, DeskProvider } from "./desk-context.tsx";
import { findIn, reduceDesk, startDesk } from "./desk-state.ts";
import type { ChartFigure } from "./figures/figure-list.ts";
import { FiguresCard } from "./figures/figures-card.tsx";
import { useFigures } from "./figures/use-figures.ts";
import { HelpDialog } from "./help-dialog.tsx";
import { LeadDetail } from "./lead/lead-detail.tsx";
import { useLeadDetail } from "./lead/use-lead-detail.ts";
import { EmptyList } from "./list/empty-list.tsx";
import { LeadList } from "./list/lead-list.tsx";
import { ListHead } from "./list/list-head.tsx";
import { useOlderLeads } from "./list/use-older-leads.ts";
import { LiveMark } from "./live-mark.tsx";
import { PhoneSearch } from "./phone-search.tsx";
import { reloadGate } from "./reload-gate.ts";
import { SealSheet } from "./seal/seal-sheet.tsx";
import { SecondSaleDialog } from "./seal/second-sale-dialog.tsx";
import { useChosenLead } from "./use-chosen-lead.ts";
import { useLeadActions } from "./use-lead-actions.tsx";
import { useLive } from "./use-live.ts";
import { useOffline } from "./use-offline.ts";

export interface DeskProps {
  site: { publicId: string; timezone: string; currency: string; canAct: boolean; mayInstall: boolean };
  filter: DeskFilter;
  page: DeskPage;
  figures: DeskFigures;
  presets: AmountPreset[];
  figure: ChartFigure;
  /** The lead that the address names, or the first one. */
  first: Detail | null;
  /** Whether the address names it: only then it opens by itself on a phone. */
  isNamed: boolean;
}

/** The screen an operator has open all day. The server drew it once; from here on it keeps itself true. */
export function Desk({ site, filter, page, figures: firstFigures, presets, figure, first, isNamed }: DeskProps) {
  const t = useTranslations("desk");
  const router = useRouter();
  const locale = useLocale();
  const { publicId: siteId, timezone, currency, canAct } = site;
  const format = useMemo(() => deskFormat(locale, timezone), [locale, timezone]);
  const [state, dispatch] = useReducer(reduceDesk, null, () => startDesk(page, first ? { [first.id]: first } : {}));
  if (state.source !== page) dispatch({ type: "page", page });
  const listRef = useRef<HTMLDivElement>(null);
  const searchRef = useRef<HTMLInputElement>(null);
  const commands = useRef<DeskCommands>({});
  const isOffline = useOffline();
  const serverTime = useServerTime();
  const actions = useLeadActions({ siteId, currency, format, dispatch });
  const [isHelping, setHelping] = useState(false);
  const [isTurning, startTurn] = useTransition();
  const [isReloadDue] = useState(reloadGate);

  const base = sitePath(siteId);
  const query = filterQuery(filter);
  const show = (next: DeskFilter) => afterLayers(() => startTurn(() => router.push(base + filterQuery(next), { scroll: false })));
  const chosen = useChosenLead({ state, listRef, query, firstId: first?.id ?? null, isNamed });
  const lead = findIn(state, chosen.id) ?? (chosen.id ? state.details[chosen.id] : undefined);
  const detail = lead && state.details[lead.id];
  useLeadDetail(siteId, lead, detail, dispatch);
  const figures = useFigures(siteId, firstFigures, state);
  const older = useOlderLeads({ siteId, query, next: state.next, of: page.asOf, dispatch });
  const heardAtMs = useLive({
    siteId,
    query,
    asOf: page.asOf,
    onChanges: (changes, of) => {
      const touched = isTouched(listRef.current);
      dispatch({ type: "changes", changes, of, isTouched: touched });
      if (isReloadDue({ isTruncated: changes.truncated, isTouched: touched, nowMs: Date.now() })) startTurn(() => router.refresh());
    },
  });
  const [, setOpenCount] = useNavCount("today", siteId);
  useEffect(() => setOpenCount(state.open), [state.open, setOpenCount]);
  const undoShown = () => {
    const isShown = canAct && !isOffline && lead?.undoUntil && Date.parse(lead.undoUntil) > serverTime().getTime();
    if (isShown) actions.undo(lead);
  };
  useKeys({
    j: () => chosen.step(1),
    k: () => chosen.step(-1),
    Enter: chosen.open,
    s: () => commands.current.seal?.(),
    x: () => commands.current.junk?.(),
    u: undoShown,
    "/": () => searchRef.current?.focus(),
    "?": () => setHelping(true),
  });

  return (
    <DeskProvider
      value={{ siteId, timeZone: timezone, currency, canAct, isOffline, rules: figures.rules, presets, format, actions, commands }}
    >
      <header className="bar desk-bar">
        <h1>{t("title")}</h1>
        <span className="t3 sm desk-only">{format.plainDay(figures.today, { weekday: "long", day: "numeric", month: "long" })}</span>
        <span className="end">
          <LiveMark heardAtMs={heardAtMs} />
          <PhoneSearch
            inputRef={searchRef}
            value={filter.phone ?? ""}
            onSearch={(phone) => show(phone ? { phone } : { ...filter, phone })}
          />
          <Button
            tone="ghost"
            icon
            className="desk-only"
            aria-label={t("shortcuts")}
            aria-keyshortcuts="?"
            onClick={() => setHelping(true)}
          >
            <Keyboard className="i" />
          </Button>
        </span>
      </header>
      {isOffline && <Alert tone="retry" className="mb-4" title={t("offline")} />}
      <FiguresCard figures={figures} open={state.open} chosen={figure} />
      <div className="desk">
        <section className="card leads" aria-label={t("list.label")} aria-busy={isTurning}>
          <ListHead filter={filter} base={base} open={state.open} figures={figures} onFilter={show} />
          <LeadList
            state={state}
            currentId={chosen.id}
            listRef={listRef}
            needsYouHref={base + filterQuery({ ...filter, view: "needs_you" })}
            leadHref={(id) => base + filterQuery(filter, { lead: id })}
            onChoose={chosen.choose}
            onShowArrived={() => dispatch({ type: "showArrived" })}
            onMore={older.more}
            isLoadingMore={older.isLoading}
            empty={
              <EmptyList
                filter={filter}
                base={base}
                figures={figures}
                installHref={site.mayInstall ? sitePath(siteId, "/connections") : null}
              />
            }
          />
        </section>
        <LeadDetail lead={lead} detail={detail} panelRef={chosen.panelRef} onStep={chosen.step} onChoose={chosen.choose} />
      </div>
      <SealSheet lead={chosen.isSheetOpen ? lead : undefined} detail={detail} onClose={chosen.close} />
      <SecondSaleDialog />
      <HelpDialog open={isHelping} onOpenChange={setHelping} />
    </DeskProvider>
  );
}

/** Whether a hand or the keyboard is on the list, or it is scrolled: then nothing may move in it. */
function isTouched(list: HTMLElement | null): boolean {
  if (!list) return false;
  const isHovered = window.matchMedia("(hover: hover)").matches && list.matches(":hover");
  return isHovered || list.contains(document.activeElement) || list.getBoundingClientRect().top < 0 || isAsking();
}
