import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { callAsUser } from "#lib/db/session-client.ts";
import type { SiteMachine } from "#lib/guards/machine.ts";
import type { SiteMember } from "#lib/guards/member.ts";
import { maxAttempts } from "#lib/oci/limits.ts";
import { log } from "#lib/platform/log.ts";
import type { SiteId } from "#lib/site.ts";
import {
  type ExportItem,
  type ExportSite,
  exportSite,
  maskClicks,
  pageViewItem,
  sealItem,
  sealRow,
  signalItem,
  signalRow,
  type TimedItem,
  type Unexportable,
  whyUnexportable,
} from "./items.ts";
import { peekPageViews, takePageViews, type ViewPage } from "./page-views.ts";

/** Small enough to be uploaded and acknowledged well within a session's five minutes. */
const pageMax = 500;
/** Pages in a row that may hold nothing but what cannot be sent. */
const emptyPagesMax = 5;

const exportPage = z.object({
  site: exportSite,
  seals: z.array(sealRow.extend({ isExpired: z.boolean() })),
  signals: z.array(signalRow),
  moreSeals: z.boolean(),
  moreSignals: z.boolean(),
});
type ExportPage = z.output<typeof exportPage>;

const limits = () => ({ p_limit: pageMax, p_max_attempts: maxAttempts() });

const inOrder = (items: TimedItem[]): ExportItem[] => items.sort((a, b) => a.at - b.at).map(({ item }) => item);

function judge({ seals, site }: ExportPage): { sendable: ExportPage["seals"]; unsendable: Unexportable[] } {
  const unsendable = seals.flatMap((row) => whyUnexportable(row, site) ?? []);
  return { sendable: seals.filter(({ id }) => !unsendable.some((each) => each.id === id)), unsendable };
}

/** Page views matter least: without Redis the others are still exported. */
async function pageViewsOf(site: ExportSite, limit: number, read: typeof peekPageViews): Promise<ViewPage & { isDown: boolean }> {
  if (!site.pageViews) return { views: [], isFull: false, isDown: false };
  try {
    return { ...(await read({ siteId: site.siteId, limit, minAgeHours: site.clickMinAgeHours })), isDown: false };
  } catch (error) {
    log.warn("page views not read", { error });
    return { views: [], isFull: false, isDown: true };
  }
}

export interface ExportPreview {
  siteId: SiteId;
  items: ExportItem[];
  counts: { queued: number; skipped: number };
  warnings: string[];
  /** The owner's pause: nothing is handed out before. */
  pausedUntil?: string;
}

/** What would be handed out now. Changes nothing, neither in Postgres nor in Redis. */
export async function previewExport(who: { machine: SiteMachine } | { member: Pick<SiteMember, "db" | "siteId"> }): Promise<ExportPreview> {
  const page =
    "machine" in who
      ? await callRpc("get_export_page", { p_site_id: who.machine.siteUuid, ...limits() }, exportPage)
      : await callAsUser(who.member.db, "preview_export_page", { p_public_id: who.member.siteId, ...limits() }, exportPage);
  const { sendable, unsendable } = judge(page);
  const signals = page.signals.slice(0, pageMax - sendable.length);
  const { views, isDown } = await pageViewsOf(page.site, pageMax - sendable.length - signals.length, peekPageViews);
  return {
    siteId: page.site.siteId,
    items: inOrder([
      ...sendable.map((row) => sealItem(row, page.site)),
      ...signals.map((row) => signalItem(row, page.site)),
      ...views.map((view) => pageViewItem("member" in who ? maskClicks(view) : view, page.site)),
    ]),
    counts: { queued: page.seals.length, skipped: unsendable.length },
    warnings: [...unsendable.map(({ id, code }) => `seal_${id}: ${code}`), ...(isDown ? ["page_views_unavailable"] : [])],
    ...(page.site.pausedUntil && { pausedUntil: page.site.pausedUntil }),
  };
}

export interface Exported {
  items: ExportItem[];
  /** More waits than went on this page. */
  hasMore: boolean;
  warnings: string[];
  counts: { seals: number; signals: number; pageViews: number; skipped: number };
  pausedUntil: string | null;
}

/**
 * Hands a page of conversions to a script, seals first. Rows that cannot be sent are failed with a reason before anything is claimed.
 * The claim comes last, so that nothing that can fail is between it and the answer. The answer holds only what was claimed.
 */
export async function exportForScript(machine: SiteMachine): Promise<Exported> {
  let skipped = 0;
  for (let round = 1; ; round++) {
    const page = await callRpc("get_export_page", { p_site_id: machine.siteUuid, ...limits() }, exportPage);
    const { sendable, unsendable } = judge(page);
    if (unsendable.length > 0) {
      const rows = unsendable.map(({ id, code, message }) => ({ id, code, message }));
      await callRpc("fail_unexportable_rows", { p_site_id: machine.siteUuid, p_rows: rows, p_key_id: machine.keyId }, z.unknown());
      skipped += unsendable.length;
    }
    if (sendable.length > 0 || !page.moreSeals || round >= emptyPagesMax) {
      return claimPage(machine, page, { ids: sendable.map(({ id }) => id), skipped });
    }
  }
}

const nothing = { token: "", rows: [] };

async function claimPage(machine: SiteMachine, page: ExportPage, { ids, skipped }: { ids: string[]; skipped: number }): Promise<Exported> {
  const signalRoom = Math.min(page.signals.length, pageMax - ids.length);
  const viewRoom = pageMax - ids.length - signalRoom;
  const { views, isFull, isDown } = await pageViewsOf(page.site, viewRoom, takePageViews);
  const signals =
    signalRoom === 0
      ? nothing
      : await callRpc(
          "claim_marketing_signals",
          { p_site_id: machine.siteUuid, p_limit: signalRoom, p_max_attempts: maxAttempts() },
          z.object({ token: z.string(), rows: z.array(signalRow) }),
        );
  const seals =
    ids.length === 0
      ? nothing
      : await callRpc(
          "claim_offline_conversion_rows_for_script_export",
          { p_ids: ids, p_site_id: machine.siteUuid, p_max_attempts: maxAttempts(), p_key_id: machine.keyId },
          z.object({ token: z.string(), rows: z.array(sealRow) }),
        );
  return {
    items: inOrder([
      ...seals.rows.map((row) => sealItem(row, page.site, seals.token)),
      ...signals.rows.map((row) => signalItem(row, page.site, signals.token)),
      ...views.map((view) => pageViewItem(view, page.site)),
    ]),
    hasMore: page.moreSeals || page.moreSignals || signalRoom < page.signals.length || isFull,
    warnings: isDown ? ["page_views_unavailable"] : [],
    pausedUntil: page.site.pausedUntil ?? null,
    counts: { seals: seals.rows.length, signals: signals.rows.length, pageViews: views.length, skipped },
  };
}
