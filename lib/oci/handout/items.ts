import { z } from "zod";
import { scriptTime } from "#lib/providers/conversion-time.ts";
import { storedSiteId } from "#lib/site.ts";

/** One conversion as the script uploads it. Ids say which pipeline it came through: seal_, signal_ or pv_. */
export interface ExportItem {
  id: string;
  orderId: string;
  gclid: string;
  wbraid: string;
  gbraid: string;
  conversionName: string;
  conversionTime: string;
  conversionValue: number;
  conversionCurrency: string;
  /** Under which claim it was handed out: a failure is reported with it. Empty in a preview and for page views, which have none. */
  claim: string;
}

const clickId = z.string().nullable();
const clicks = { gclid: clickId, wbraid: clickId, gbraid: clickId };

export const exportSite = z.object({
  siteId: storedSiteId,
  timezone: z.string(),
  currency: z.string(),
  pageViews: z.boolean(),
  clickMinAgeHours: z.number(),
  pageViewName: z.string(),
  pausedUntil: z.string().nullish(),
});
export type ExportSite = z.output<typeof exportSite>;

export const sealRow = z.object({
  id: z.uuid(),
  orderId: z.string(),
  ...clicks,
  conversionName: z.string(),
  conversionTime: z.string(),
  valueCents: z.number(),
  currency: z.string(),
});
export const signalRow = z.object({
  id: z.uuid(),
  orderId: z.string(),
  ...clicks,
  conversionName: z.string(),
  conversionTime: z.string(),
  value: z.number(),
  currency: z.string(),
});

/** An item with the instant it is sorted by: text with offsets does not sort. */
export interface TimedItem {
  at: number;
  item: ExportItem;
}

interface Fields {
  id: string;
  orderId: string;
  row: { gclid: string | null; wbraid: string | null; gbraid: string | null };
  at: Date;
  conversionName: string;
  conversionValue: number;
  conversionCurrency: string;
  claim: string;
}

function timedItem({ id, orderId, row, at, ...rest }: Fields, timezone: string): TimedItem {
  const { gclid, wbraid, gbraid } = row;
  const item = {
    id,
    orderId,
    gclid: gclid ?? "",
    wbraid: wbraid ?? "",
    gbraid: gbraid ?? "",
    conversionTime: scriptTime(at, timezone),
    ...rest,
  };
  return { at: at.getTime(), item };
}

export function sealItem(row: z.output<typeof sealRow>, site: ExportSite, claim = ""): TimedItem {
  const money = { conversionName: row.conversionName, conversionValue: row.valueCents / 100, conversionCurrency: row.currency };
  return timedItem({ id: `seal_${row.id}`, orderId: row.orderId, row, at: new Date(row.conversionTime), claim, ...money }, site.timezone);
}

export function signalItem(row: z.output<typeof signalRow>, site: ExportSite, claim = ""): TimedItem {
  const money = { conversionName: row.conversionName, conversionValue: row.value, conversionCurrency: row.currency };
  return timedItem({ id: `signal_${row.id}`, orderId: row.orderId, row, at: new Date(row.conversionTime), claim, ...money }, site.timezone);
}

const masked = (click: string) => (click.length >= 16 ? `${click.slice(0, 6)}…${click.slice(-4)}` : click && "…");

/** Masked for people: enough of a click id to tell two apart, too little to use it. SQL does the same with the other pipelines. */
export function maskClicks<T extends { gclid: string; wbraid: string; gbraid: string }>(view: T): T {
  return { ...view, gclid: masked(view.gclid), wbraid: masked(view.wbraid), gbraid: masked(view.gbraid) };
}

/** A page view says that the ad was seen to work, not what it was worth. */
export function pageViewItem(
  view: { id: string; gclid: string; wbraid: string; gbraid: string; viewedAt: string },
  site: ExportSite,
): TimedItem {
  const money = { conversionName: site.pageViewName, conversionValue: 0, conversionCurrency: site.currency };
  return timedItem({ id: view.id, orderId: view.id, row: view, at: new Date(view.viewedAt), claim: "", ...money }, site.timezone);
}

export interface Unexportable {
  id: string;
  code: "NO_CLICK_ID" | "CLICK_EXPIRED" | "INVALID_CONVERSION_TIME";
  message: string;
}

/** Why a conversion can never be sent as it is, as a message for the operator who finds it among the failed; null when it can. */
export function whyUnexportable(row: z.output<typeof sealRow> & { isExpired: boolean }, site: ExportSite): Unexportable | null {
  if (!row.gclid && !row.wbraid && !row.gbraid)
    return { id: row.id, code: "NO_CLICK_ID", message: "The lead has no Google click id any more, so Google cannot match it to an ad." };
  if (row.isExpired)
    return {
      id: row.id,
      code: "CLICK_EXPIRED",
      message: "The click is older than 90 days; Google takes no conversion for it any more.",
    };
  try {
    sealItem(row, site);
    return null;
  } catch {
    return { id: row.id, code: "INVALID_CONVERSION_TIME", message: "The time of the sale cannot be written in the site's time zone." };
  }
}
