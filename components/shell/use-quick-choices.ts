"use client";

import { BadgeCheck, Building2, Inbox, LayoutGrid, ListChecks, type LucideIcon, PauseCircle, Plus, Upload, UserRound } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { getJson } from "#components/forms/get-json.ts";
import { folded } from "#lib/i18n/folded.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { Found } from "#lib/leads/search-sites.ts";
import { shortOrder } from "#lib/oci/short-order.ts";
import { hasRole } from "#lib/tenancy/site-roles.ts";
import type { ShellSite } from "./current-site.ts";
import { leadPath, navItemsFor, rowPath, salePath, sitePath } from "./nav-items.ts";

export interface QuickChoice {
  key: string;
  icon: LucideIcon;
  label: string;
  note: string;
  href: string;
}

interface Question {
  text: string;
  /** The site in view: its leads and sales come first. */
  site: ShellSite | null;
  sites: ShellSite[];
  mayCreate: boolean;
}

const restMs = 200;
const choicesMax = 40;

/** What the text finds: pages and actions by their name, sites, and the leads and sales of all sites. */
export function useQuickChoices({ text, site, sites, mayCreate }: Question): { choices: QuickChoice[]; isLooking: boolean } {
  const { found, isLooking } = useFound(text.trim(), site);
  const rows = useRowChoices(found, { site, sites });
  const places = usePlaces(site, sites, mayCreate);
  const wanted = folded(text.trim());
  const isNamed = ({ label, note }: QuickChoice) => folded(`${label} ${note}`).includes(wanted);
  return { choices: [...rows, ...places.filter(isNamed)].slice(0, choicesMax), isLooking };
}

function useFound(text: string, site: ShellSite | null) {
  const [answer, setAnswer] = useState<{ text: string; found: Found | null }>({ text: "", found: null });
  const siteId = site?.siteId;
  const isAsked = text.length >= 2;
  useEffect(() => {
    if (!isAsked) return;
    let isCurrent = true;
    const timer = setTimeout(async () => {
      const found = await getJson<Found>("/api/search", { q: text, ...(siteId && { site: siteId }) });
      if (isCurrent) setAnswer({ text, found });
    }, restMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text, siteId, isAsked]);
  const isHere = isAsked && answer.text === text;
  return { found: isHere ? answer.found : null, isLooking: isAsked && !isHere };
}

/** Leads lead to Today; a sale leads to its conversion, or else to its line in Sales. What is not of the site in view says of which it is. */
function useRowChoices(found: Found | null, { site, sites }: Pick<Question, "site" | "sites">): QuickChoice[] {
  const t = useTranslations();
  const locale = useLocale();
  if (!found) return [];
  const placeOf = (siteId: string) => {
    const its = sites.find((each) => each.siteId === siteId);
    const timeZone = its?.timezone ?? "UTC";
    const elsewhere = its && its.siteId !== site?.siteId ? its.name : null;
    return {
      money: (cents: number, currency: string) => siteFormat({ locale, timeZone, currency }).money(cents),
      note: (what: string, at: string) => [elsewhere, what, siteFormat({ locale, timeZone }).dateTime(at)].filter(Boolean).join(" · "),
    };
  };
  return [
    ...found.leads.map(({ siteId, id, name, phone, channel, status, calledAt }) => ({
      key: id,
      icon: Inbox,
      label: [name, phone].filter(Boolean).join(" · ") || t(`channels.${channel}`),
      note: placeOf(siteId).note(t(`states.${status}`), calledAt),
      href: leadPath(siteId, id),
      isHere: siteId === site?.siteId,
    })),
    ...found.sales.map(({ siteId, id, orderId, externalRef, amountCents, currency, occurredAt, rowId }) => ({
      key: id,
      icon: BadgeCheck,
      label: `${placeOf(siteId).money(amountCents, currency)} · ${externalRef ?? shortOrder(orderId)}`,
      note: placeOf(siteId).note(t("labels.sale"), occurredAt),
      href: rowId ? rowPath(siteId, rowId) : salePath(siteId, id),
      isHere: siteId === site?.siteId,
    })),
  ].sort((one, other) => Number(other.isHere) - Number(one.isHere));
}

function usePlaces(site: ShellSite | null, sites: ShellSite[], mayCreate: boolean): QuickChoice[] {
  const t = useTranslations();
  const place = (icon: LucideIcon, label: string, href: string, note = ""): QuickChoice => ({ key: href + label, icon, label, href, note });
  const pages = site ? navItemsFor(site.role).map(({ key, icon, path }) => place(icon, t(`nav.${key}`), sitePath(site.siteId, path))) : [];
  const actions = site
    ? [
        hasRole(site.role, "operator") && place(Upload, t("sales.import"), sitePath(site.siteId, "/sales/import")),
        site.role === "owner" && place(ListChecks, t("setup.title"), sitePath(site.siteId, "/setup")),
        site.role === "owner" && place(PauseCircle, t("pause.title"), sitePath(site.siteId, "/connections/google-ads")),
      ]
    : [];
  return [
    ...pages,
    ...actions.filter((action) => action !== false),
    ...sites.map(({ siteId, name, domain }) => place(Building2, name, sitePath(siteId), domain ?? "")),
    place(LayoutGrid, t("nav.allSites"), "/dashboard"),
    place(UserRound, t("nav.account"), "/dashboard/account"),
    ...(mayCreate ? [place(Plus, t("nav.newSite"), "/dashboard/sites/new")] : []),
  ];
}
