import { randomUUID } from "node:crypto";
import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { redis } from "#lib/platform/redis.ts";
import { type SiteId, type SiteUuid, siteIdShape, siteUuidShape } from "#lib/site.ts";
import { acknowledgeViews, keepView, returnViews, takeViews } from "./page-view-scripts.ts";

/**
 * Pipeline C in Redis. A view waits in pv:queue, is moved to pv:processing when it is handed out, and leaves both when it is
 * acknowledged. pv:claims remembers when each was handed out, so that unacknowledged ones are exported again; pv:visitor which views are
 * a visitor's, so that a withdrawal finds them; pv:acked what was acknowledged, so that the same call gets the same answer.
 */
export type ViewStore = ReturnType<typeof redis>;
const queueOf = (siteId: SiteId) => `pv:queue:${siteId}`;
const processingOf = (siteId: SiteId) => `pv:processing:${siteId}`;
const ackedOf = (siteId: SiteId) => `pv:acked:${siteId}`;
const visitorOf = (siteId: SiteId, visitor: string) => `pv:visitor:${siteId}:${visitor}`;
const dataOf = (id: string) => `pv:data:${id}`;
const claims = "pv:claims";
const idsIn = (text: string) => text.split(",").filter((id) => id !== "");

export const viewsKeptDays = 3;
const keptSeconds = viewsKeptDays * 86_400;
const oldestOf = (now: Date) => now.getTime() - keptSeconds * 1000;

/**
 * A full queue takes no new view, so that waiting views grow old enough to be exported: with six hours' wait 8,300 an hour, even when
 * more come. 500 bytes each: 25 MB of Redis for a site at its bound.
 */
const waitingMax = 50_000;
/** So one browser can fill at most a hundredth of it, and a withdrawal is one short command. */
const ofVisitorMax = 500;

const view = z.object({ gclid: z.string(), wbraid: z.string(), gbraid: z.string(), viewedAt: z.string(), visitor: z.string() });
type StoredView = z.output<typeof view>;
type WaitingView = StoredView & { id: string };

/** Keeps a view for the next export. Returns its id, or null when the site or the visitor has too many. */
export async function keepPageView(siteId: SiteId, stored: StoredView, now = new Date()): Promise<string | null> {
  const id = `pv_${randomUUID()}`;
  const keys = [queueOf(siteId), processingOf(siteId), dataOf(id), visitorOf(siteId, stored.visitor)];
  const bounds = [now.getTime(), oldestOf(now), keptSeconds, waitingMax, ofVisitorMax];
  const kept = await redis().eval(keepView, keys, [id, Date.parse(stored.viewedAt), JSON.stringify(stored), ...bounds]);
  return kept === 1 ? id : null;
}

async function readViews(ids: string[], store: ViewStore = redis()): Promise<WaitingView[]> {
  if (ids.length === 0) return [];
  const data = await store.mget<unknown[]>(...ids.map(dataOf));
  return ids.flatMap((id, index) => {
    const parsed = view.safeParse(data[index]);
    return parsed.success ? [{ id, ...parsed.data }] : []; // expired after three days, withdrawn, or from before views had visitors; safe to drop
  });
}

/** The visitors among these whose last choice refuses marketing. Postgres also knows withdrawals that came while Redis was down. */
export async function refusedMarketing(siteUuid: SiteUuid, visitors: string[]): Promise<Set<string>> {
  const args = { p_site_id: siteUuid, p_visitors: [...new Set(visitors)] };
  return new Set(await callRpc("visitors_without_marketing", args, z.array(z.string())));
}

const viewSite = z.object({ siteUuid: siteUuidShape, pageViews: z.boolean(), isPaused: z.boolean() }).nullable();
const readSite = (siteId: SiteId) => callRpc("site_for_ingest", { p_public_id: siteId }, viewSite);

async function withoutRefused(siteId: SiteId, views: WaitingView[]): Promise<WaitingView[]> {
  if (views.length === 0) return [];
  const site = await readSite(siteId);
  if (!site) return [];
  const visitors = views.map(({ visitor }) => visitor);
  const refused = await refusedMarketing(site.siteUuid, visitors);
  return views.filter(({ visitor }) => !refused.has(visitor));
}

export interface ViewQuestion {
  siteId: SiteId;
  limit: number;
  /** Only views at least this old: Google refuses younger clicks. */
  minAgeHours: number;
}

export interface ViewPage {
  views: WaitingView[];
  /** As many were found as were asked for: more may wait. */
  isFull: boolean;
}

const readyUntil = ({ minAgeHours }: ViewQuestion, now: Date) => now.getTime() - minAgeHours * 3_600_000;

/** The oldest views that could be sent now; takes nothing. */
export async function peekPageViews(question: ViewQuestion, now = new Date()): Promise<ViewPage> {
  const { siteId, limit } = question;
  if (limit <= 0) return { views: [], isFull: true };
  const range = { byScore: true, offset: 0, count: limit } as const;
  const ids = await redis().zrange<string[]>(queueOf(siteId), oldestOf(now), readyUntil(question, now), range);
  return { views: await withoutRefused(siteId, await readViews(ids)), isFull: ids.length === limit };
}

/**
 * Takes the oldest views that are old enough. Two scripts never get the same one. Whatever fails after the move, the view comes back
 * after a quarter of an hour.
 */
export async function takePageViews(question: ViewQuestion, now = new Date()): Promise<ViewPage> {
  const { siteId, limit } = question;
  if (limit <= 0) return { views: [], isFull: true };
  const keys = [queueOf(siteId), processingOf(siteId), claims];
  const args = [siteId, readyUntil(question, now), limit, now.getTime(), oldestOf(now), keptSeconds];
  const ids = idsIn(await redis().eval<unknown[], string>(takeViews, keys, args));
  const views = await withoutRefused(siteId, await readViews(ids));
  const dropped = ids.filter((id) => !views.some((each) => each.id === id));
  if (dropped.length > 0) await drop(siteId, dropped);
  if (views.length === 0) return { views, isFull: ids.length === limit };
  // Asked last: a pause that was set meanwhile holds for these, too. One that is set from here on comes after the hand-out.
  const site = await readSite(siteId);
  if (site?.pageViews && !site.isPaused) return { views, isFull: ids.length === limit };
  const back = [siteId, now.getTime(), oldestOf(now), ...views.map(({ id }) => id)];
  await redis().eval<unknown[], number>(returnViews, keys, back);
  return { views: [], isFull: false };
}

async function drop(siteId: SiteId, ids: string[]): Promise<void> {
  const members = ids.map((id) => `${siteId}/${id}`);
  await redis()
    .multi()
    .zrem(processingOf(siteId), ...ids)
    .zrem(claims, ...members)
    .del(...ids.map(dataOf))
    .exec();
}

/** Forgets delivered views, now or by an earlier call. Refuses ids of another site and unknown ids. */
export async function forgetPageViews(siteId: SiteId, ids: string[], now = new Date()): Promise<{ done: string[]; refused: string[] }> {
  if (ids.length === 0) return { done: [], refused: [] };
  const keys = [queueOf(siteId), processingOf(siteId), claims, ackedOf(siteId), ...ids.map(dataOf)];
  const args = [siteId, now.getTime(), oldestOf(now), keptSeconds, ...ids];
  const done = idsIn(await redis().eval<unknown[], string>(acknowledgeViews, keys, args));
  return { done, refused: ids.filter((id) => !done.includes(id)) };
}

/**
 * Visitors withdrew: their waiting views go. One that is in flight loses its data and can still be acknowledged, but not come back. Two
 * commands however many visitors there are.
 */
export async function forgetViewsOf(siteId: SiteId, visitors: string[], store: ViewStore = redis()): Promise<number> {
  const sets = store.pipeline();
  for (const visitor of visitors) sets.smembers(visitorOf(siteId, visitor));
  const idsOf = visitors.length > 0 ? await sets.exec<string[][]>() : [];
  const ids = idsOf.flat();
  if (ids.length === 0) return 0;
  const forget = store
    .multi()
    .del(...ids.map(dataOf))
    .zrem(queueOf(siteId), ...ids);
  for (const [index, visitor] of visitors.entries()) {
    const [first, ...rest] = idsOf[index] ?? [];
    if (first) forget.srem(visitorOf(siteId, visitor), first, ...rest);
  }
  const [forgotten] = await forget.exec<[number, ...number[]]>();
  return forgotten;
}

export function countViewsOfVisitor(siteId: SiteId, visitor: string, store: ViewStore = redis()): Promise<number> {
  return store.scard(visitorOf(siteId, visitor));
}

export async function viewsOfVisitor(siteId: SiteId, visitor: string, store: ViewStore = redis()): Promise<WaitingView[]> {
  return readViews(await store.smembers(visitorOf(siteId, visitor)), store);
}

/** Puts views back that were handed out long ago and never acknowledged. */
export async function recoverPageViews(minAgeMinutes: number, now = new Date()): Promise<number> {
  const until = now.getTime() - minAgeMinutes * 60_000;
  const members = await redis().zrange<string[]>(claims, 0, until, { byScore: true, offset: 0, count: 1000 });
  const bySite = Map.groupBy(members, (member) => siteIdShape.parse(member.split("/")[0] ?? ""));
  let recovered = 0;
  for (const [siteId, claimed] of bySite) {
    const ids = claimed.map((member) => member.slice(siteId.length + 1));
    const keys = [queueOf(siteId), processingOf(siteId), claims];
    recovered += await redis().eval<unknown[], number>(returnViews, keys, [siteId, now.getTime(), oldestOf(now), ...ids]);
  }
  return recovered;
}
