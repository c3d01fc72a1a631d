import { z } from "zod";
import { redis } from "#lib/platform/redis.ts";

/**
 * Pipeline C in Redis. A view waits in pv:queue, is moved to pv:processing when it is handed out, and leaves both when it is
 * acknowledged. pv:claims remembers when each was handed out, so that what nobody acknowledges comes back.
 */
const queueOf = (publicId: string) => `pv:queue:${publicId}`;
const processingOf = (publicId: string) => `pv:processing:${publicId}`;
const claims = "pv:claims";
const dataOf = (id: string) => `pv:data:${id}`;
const claimOf = (publicId: string, id: string) => `${publicId}/${id}`;

const view = z.object({ gclid: z.string(), wbraid: z.string(), gbraid: z.string(), viewedAt: z.string() });
export type WaitingView = z.output<typeof view> & { id: string };

async function readViews(ids: string[]): Promise<WaitingView[]> {
  if (ids.length === 0) return [];
  const data = await redis().mget<unknown[]>(...ids.map(dataOf));
  return ids.flatMap((id, index) => {
    const parsed = view.safeParse(data[index]);
    return parsed.success ? [{ id, ...parsed.data }] : []; // a view that ran out of its three days is nobody's loss
  });
}

export interface ViewQuestion {
  publicId: string;
  limit: number;
  /** Only views at least this old: Google refuses younger clicks. */
  minAgeHours: number;
}

/** The oldest views that could be sent now; takes nothing. */
export async function peekPageViews({ publicId, limit, minAgeHours }: ViewQuestion, now = new Date()): Promise<WaitingView[]> {
  if (limit <= 0) return [];
  const views = await readViews(await redis().lrange<string>(queueOf(publicId), 0, limit - 1));
  const newest = now.getTime() - minAgeHours * 3_600_000;
  return views.filter(({ viewedAt }) => Date.parse(viewedAt) <= newest);
}

/** Takes the oldest views. Each move is atomic, so two scripts never get the same one. */
export async function takePageViews(question: ViewQuestion, now = new Date()): Promise<WaitingView[]> {
  const { publicId } = question;
  await dropExpired(publicId, question.limit);
  const waiting = await peekPageViews(question, now);
  if (waiting.length === 0) return [];
  // Noted before it is moved: whatever dies in between, the view is either still waiting or known to be away.
  await noteClaims(
    publicId,
    waiting.map(({ id }) => id),
    now,
  );
  const pipeline = redis().pipeline();
  for (const _view of waiting) pipeline.lmove(queueOf(publicId), processingOf(publicId), "left", "right");
  const moved = (await pipeline.exec<(string | null)[]>()).filter((id) => id !== null);
  const others = moved.filter((id) => !waiting.some((each) => each.id === id)); // another script took some first
  if (others.length > 0) await noteClaims(publicId, others, now);
  return readViews(moved);
}

/** Ids whose view ran out of its time would otherwise stand before all others for ever. */
async function dropExpired(publicId: string, limit: number): Promise<void> {
  if (limit <= 0) return;
  const ids = await redis().lrange<string>(queueOf(publicId), 0, limit - 1);
  const living = new Set((await readViews(ids)).map(({ id }) => id));
  const expired = ids.filter((id) => !living.has(id));
  if (expired.length === 0) return;
  const pipeline = redis().pipeline();
  for (const id of expired) pipeline.lrem(queueOf(publicId), 0, id);
  await pipeline.exec();
}

async function noteClaims(publicId: string, ids: string[], now: Date): Promise<void> {
  const [first, ...rest] = ids.map((id) => ({ score: now.getTime(), member: claimOf(publicId, id) }));
  if (first) await redis().zadd(claims, first, ...rest);
}

/** Forgets delivered views; refused are those of another site. One that is already gone was acknowledged before. */
export async function forgetPageViews(publicId: string, ids: string[]): Promise<{ done: string[]; refused: string[] }> {
  if (ids.length === 0) return { done: [], refused: [] };
  const look = redis().pipeline();
  for (const id of ids) look.lpos(processingOf(publicId), id).lpos(queueOf(publicId), id).exists(dataOf(id));
  const found = await look.exec<(number | null)[]>();
  const isOthers = (index: number) => found[3 * index] === null && found[3 * index + 1] === null && found[3 * index + 2] === 1;
  const refused = ids.filter((_id, index) => isOthers(index));
  const done = ids.filter((_id, index) => !isOthers(index));
  if (done.length > 0) {
    const forget = redis().multi(); // all or nothing: the same call again finds what this one found
    for (const id of done) forget.lrem(processingOf(publicId), 0, id).lrem(queueOf(publicId), 0, id);
    await forget
      .del(...done.map(dataOf))
      .zrem(claims, ...done.map((id) => claimOf(publicId, id)))
      .exec();
  }
  return { done, refused };
}

/** Puts views back that were handed out long ago and never acknowledged. */
export async function recoverPageViews(minAgeMinutes: number, now = new Date()): Promise<number> {
  const until = now.getTime() - minAgeMinutes * 60_000;
  const members = await redis().zrange<string[]>(claims, 0, until, { byScore: true, offset: 0, count: 1000 });
  let recovered = 0;
  for (const member of members) {
    const [publicId = "", id = ""] = member.split("/");
    const isAway = (await redis().lpos(processingOf(publicId), id)) !== null;
    const move = redis().multi().lrem(processingOf(publicId), 0, id); // together, so that a crash neither loses nor doubles it
    if (isAway && (await redis().exists(dataOf(id))) === 1) {
      move.lpush(queueOf(publicId), id);
      recovered++;
    }
    await move.exec();
    await redis().zrem(claims, member);
  }
  return recovered;
}
