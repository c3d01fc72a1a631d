import { drainEvents } from "#lib/ingest/drain.ts";
import { type Answered, change } from "#tests/fixtures/leads.ts";
import { type Claimed, claimForScript } from "#tests/fixtures/queue.ts";
import { deliverySettings, sendAtOnce } from "#tests/fixtures/site.ts";
import type { Team } from "#tests/fixtures/team.ts";
import type { IngestApp, IngestSite } from "./ingest-app.ts";

/** A site of the ingest tests with the people and settings that sealing and sending need: what is sealed can be sent at once. */
export async function sendingSite(app: IngestApp, settings?: Parameters<IngestApp["newSite"]>[0]): Promise<IngestSite & Team> {
  const site = await app.newSite(settings);
  const team = { ...site, owner: app.owner, operator: app.owner, viewer: app.owner };
  await deliverySettings(app.db.sql, team, { ...sendAtOnce, signalsEnabled: true });
  return team;
}

export const callOf = async (app: IngestApp, site: IngestSite, stamp?: string) => {
  const calls = await app.db
    .sql`select * from public.calls where site_id = ${site.siteUuid} and intent_stamp = ${stamp ?? app.db.sql`intent_stamp`}
    order by called_at, id`;
  if (calls.length !== 1 || !calls[0]) throw new Error(`${calls.length} calls instead of one.`);
  return calls[0];
};

/** Stores what waits, and seals the site's only call. */
export async function sealOnlyCall(
  app: IngestApp,
  site: IngestSite & Team,
  amountCents = 150_000,
): Promise<{ callId: string; saleId: string }> {
  await drainEvents();
  const { id } = await callOf(app, site);
  const { status, body } = await seal(app, site, String(id), amountCents);
  if (status !== 200) throw new Error(`The seal was refused: ${JSON.stringify(body)}`);
  return { callId: String(id), saleId: String(body.saleId) };
}

export function seal(app: IngestApp, site: IngestSite & Team, id: string, amountCents = 150_000): Promise<Answered> {
  return change(app.db.sql, { team: site }, "seal_call", { id, amountCents });
}

/** What the site's script would be handed now. */
export async function handedOut(app: IngestApp, site: IngestSite & Team): Promise<Claimed["rows"]> {
  const rows = await app.db.sql`select id from public.offline_conversion_queue where site_id = ${site.siteUuid}`;
  const { rows: claimed } = await claimForScript(
    app.db.sql,
    site,
    rows.map(({ id }) => String(id)),
  );
  return claimed;
}

export const saleOf = async (app: IngestApp, saleId: string) => {
  const [sale] = await app.db.sql`select s.*, (select jsonb_agg(jsonb_build_array(q.status, q.provider_error_code) order by q.created_at)
      from public.offline_conversion_queue q where q.sale_id = s.id) as rows from public.sales s where s.id = ${saleId}`;
  if (!sale) throw new Error("No such sale.");
  return sale;
};
