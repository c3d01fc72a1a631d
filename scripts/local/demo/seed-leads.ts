/** Demo leads: a month of visits, and what two people did with them, through the product's own functions at their own times. */

import { createHash } from "node:crypto";
import type postgres from "postgres";
import type { SiteId, SiteUuid } from "#lib/site.ts";
import { siteUuidShape } from "#lib/site.ts";
import type { KeyRing } from "#lib/vault/secret.ts";
import { become } from "#tests/fixtures/act-as.ts";
import { recordSteps } from "#tests/fixtures/record-visit.ts";
import { type LeadMove, type PlannedVisit, planLeads } from "./lead-plan.ts";
import { leadStories } from "./lead-stories.ts";

interface LeadSite {
  siteId: SiteId;
  domain: string;
}

interface Desk {
  siteUuid: SiteUuid;
  site: LeadSite;
  people: { owner: string; operator: string };
  /** What callers' numbers are hashed with. */
  ring: KeyRing;
}

/** Each site's month is one transaction: an interrupted start leaves none of it, and the next one makes all of it. */
export async function seedLeads(
  sql: postgres.Sql,
  sites: LeadSite[],
  { people, ring }: Pick<Desk, "people" | "ring">,
  now = new Date(),
): Promise<void> {
  for (const [index, story] of leadStories.entries()) {
    const site = sites[index];
    if (!site) continue;
    const [row] = await sql`select s.id, exists (select from public.calls c where c.site_id = s.id) as told
      from public.sites s where s.public_id = ${site.siteId}`;
    if (row?.told !== false) continue;
    const desk: Desk = { siteUuid: siteUuidShape.parse(row.id), site, people, ring };
    await sql.begin(async (tx) => {
      const settings = { defaultAovCents: story.averageOrderCents, sendDelayMinutes: 0, clickMinAgeHours: 0, signalsEnabled: index === 0 };
      const founded = new Date(now.getTime() - 42 * 86_400_000);
      await act(tx, people.owner, founded, tx`select public.set_site_delivery(${site.siteId}, ${tx.json(settings)})`);
      await live(tx, desk, planLeads(story, 527 + index, now));
    });
  }
}

/** Everything in the order in which it happened, so that proofs stand in the order of their times. */
async function live(tx: postgres.TransactionSql, desk: Desk, visits: PlannedVisit[]): Promise<void> {
  const calls = new Map<PlannedVisit, string | undefined>();
  const happenings = visits.flatMap((visit) => [
    { at: visit.steps.at(-1)?.at ?? new Date(0), run: async () => void calls.set(visit, await recordOne(tx, desk, visit)) },
    ...visit.moves.map(({ at, actor, move }) => ({ at, run: () => makeMove(tx, desk, { call: calls.get(visit), at, actor, move }) })),
  ]);
  happenings.sort((a, b) => a.at.getTime() - b.at.getTime());
  for (const { run } of happenings) await run();
}

async function recordOne(
  tx: postgres.TransactionSql,
  { siteUuid, site, ring }: Desk,
  { visitor, steps }: PlannedVisit,
): Promise<string | undefined> {
  const own = steps.map((step) => ({ ...step, url: step.url?.replace("demo.invalid", site.domain) }));
  const [call] = await recordSteps(tx, siteUuid, { visitor, steps: own, ring });
  return call;
}

interface MadeMove {
  call: string | undefined;
  at: Date;
  actor: "owner" | "operator";
  move: LeadMove;
}

async function makeMove(tx: postgres.TransactionSql, { site, people }: Desk, { call, at, actor, move }: MadeMove): Promise<void> {
  if (!call) return;
  const { change, ...given } = move;
  const onSale = change === "correct_sale" || change === "cancel_sale";
  const [sale] = onSale ? await tx`select id from public.sales where call_id = ${call} and status = 'CONFIRMED'` : [];
  const id: string = onSale ? sale?.id : call;
  const hash = createHash("sha256")
    .update(`${id}/${JSON.stringify(move)}`)
    .digest("hex");
  const args = tx.json({ ...given, id });
  await act(tx, people[actor], at, tx`select ${tx(`public.${change}`)}(${site.siteId}, ${args}, ${hash})`);
}

/** As a signed-in person at a time, inside a transaction that goes on as the owner of the database. */
async function act(tx: postgres.TransactionSql, userId: string, at: Date, call: postgres.PendingQuery<postgres.Row[]>): Promise<void> {
  await become(tx, userId, at);
  await call;
  await tx`select set_config('role', 'none', true)`;
}
