import { createHash, randomUUID } from "node:crypto";
import { drainEvents } from "#lib/ingest/drain.ts";
import { keepPageView } from "#lib/oci/handout/page-views.ts";
import { type AskedPerson, eraseStep, exportPage, type PersonDoor, personPreview } from "#lib/privacy/person.ts";
import { callersOf, vouchedCallersOf } from "#lib/seal/caller-hashes.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { type IngestApp, type IngestSite, pageView, phoneCall } from "./ingest-app.ts";

const both = ["analytics", "marketing"];
const sha = (text: string) => createHash("sha256").update(text).digest("hex");

/** One person, with every trace that somebody can leave. */
export interface TracedPerson {
  visitor: string;
  gclid: string;
  wbraid: string;
  phone: string;
  email: string;
  callId: string;
  saleId: string;
  tillSaleId: string;
  queueId: string;
  /** What must not stand in any cell afterwards. */
  traces: string[];
}

let people = 0;

/** Leaves all traces of one person: through the tracker, a telephone system, the desk, a till and the script. */
export async function leaveTraces(app: IngestApp, site: IngestSite & Team): Promise<TracedPerson> {
  const number = ++people;
  const visitor = `visitor-${randomUUID()}`;
  const gclid = `gclid-${randomUUID()}`;
  const wbraid = `wbraid-${randomUUID()}`;
  const phone = `+9055511${String(10_000 + number)}`;
  const email = `ayse.${number}@person.test`;
  const stamp = randomUUID();
  const meta = { fp: visitor, gclid };
  const u = `${site.origin}/?gclid=${gclid}`;
  await app.sync(site, pageView(site, { consent_scopes: both, t: 7_200_000, u, r: u, meta }));
  await app.sync(site, phoneCall(site, { consent_scopes: both, t: 7_000_000, u, meta: { ...meta, intent_stamp: stamp } }));
  await drainEvents();
  await app.call(site, { intent_stamp: stamp, fingerprint: visitor, phone_number: phone, url: u });
  await drainEvents();
  const [call] = await app.db.sql`select id from public.calls where site_id = ${site.siteUuid} and visitor_id = ${visitor}`;
  const callId = String(call?.id);
  await change(app.db.sql, { team: site }, "change_call", { id: callId, to: "qualified", reason: `Ring ${phone} back` });
  const name = `Ayşe Yıldıztepe ${number}`;
  await callAs(app.db.sql, app.owner, (tx) => tx`select public.set_lead_contact(${site.siteId}, ${callId}, ${tx.json({ name })})`);
  await callAs(
    app.db.sql,
    app.owner,
    (tx) => tx`select public.add_lead_note(${site.siteId}, ${callId}, ${`${name} is at home after six`})`,
  );
  const sealing = { id: callId, amountCents: 150_000, note: `Mrs. A., ${email}` };
  const sealed = await change(app.db.sql, { team: site }, "seal_call", sealing);
  if (sealed.status !== 200) throw new Error(`The seal was refused: ${JSON.stringify(sealed.body)}`);
  const saleId = String(sealed.body.saleId);
  const line = { line: 2, externalRef: `till-${number}`, occurredAt: new Date(Date.now() - 60_000).toISOString(), amountCents: 5_000 };
  const till = {
    ...line,
    currency: "TRY",
    customerPhone: phone,
    emailHash: sha(email),
    wbraid,
    marketingConsent: true,
    note: `For ${email}`,
    callers: (await vouchedCallersOf(site.siteId, [{ phone }])).flat().map((caller) => ({ ...caller })), // as the app adds them
  };
  await callAs(app.db.sql, app.owner, (tx) => tx`select public.import_sales(${site.siteId}, ${tx.json([till])}, false)`);
  const [tillSale] = await app.db.sql`select id from public.sales where site_id = ${site.siteUuid} and external_ref = ${till.externalRef}`;
  const rows = await app.db.sql`select id from public.offline_conversion_queue where sale_id = ${saleId}`;
  const queueId = String(rows[0]?.id);
  await keepPageView(site.siteId, { gclid, wbraid: "", gbraid: "", viewedAt: new Date().toISOString(), visitor });
  return {
    visitor,
    gclid,
    wbraid,
    phone,
    email,
    callId,
    saleId,
    tillSaleId: String(tillSale?.id),
    queueId,
    traces: [name, visitor, gclid, wbraid, phone.slice(4), sha(phone), email, sha(email), sha(`gclid/${gclid}`)],
  };
}

/** More events of the person, captured and not stored yet: one by the tracker, one by a telephone system that knows the number alone. */
export async function captureMore(app: IngestApp, site: IngestSite, { visitor, gclid, phone }: TracedPerson): Promise<void> {
  const u = `${site.origin}/${randomUUID()}?gclid=${gclid}`;
  await app.sync(site, pageView(site, { consent_scopes: both, u, meta: { fp: visitor, gclid } }));
  await app.call(site, { event_id: randomUUID(), phone_number: phone });
}

/** The conversion of the person goes to a script and is not answered yet. */
export const claimRow = (app: IngestApp, site: IngestSite & Team, { queueId }: TracedPerson) => claimForScript(app.db.sql, site, [queueId]);
export const acknowledge = (app: IngestApp, site: IngestSite, { queueId }: TracedPerson) =>
  service(app.db.sql, "ack_offline_conversions", { p_site_id: site.siteUuid, p_ids: [queueId] });

/** The door of a site's owner, straight to SQL. */
export function ownersDoor(app: IngestApp, site: IngestSite, person: { id: string } = app.owner): PersonDoor {
  const call = <T>(run: Parameters<typeof callAs>[2]) => callAs<T>(app.db.sql, person, run);
  return {
    siteId: site.siteId,
    callerHashes: async (numbers) => (await callersOf(site.siteId, numbers)).flat().map(({ hash }) => hash),
    preview: async (asked) => personPreview.parse(await call((tx) => tx`select public.preview_erasure(${site.siteId}, ${tx.json(asked)})`)),
    erase: async (asked, receiptId) =>
      eraseStep.parse(await call((tx) => tx`select public.erase_person(${site.siteId}, ${tx.json(asked)}, ${receiptId})`)),
    export: async (asked, after) =>
      exportPage.parse(await call((tx) => tx`select public.export_person(${site.siteId}, ${tx.json(asked)}, ${after})`)),
  };
}

/** The ways to ask for a person. */
export const waysToAsk = (person: TracedPerson): AskedPerson[] => [
  { kind: "phone", value: person.phone },
  { kind: "email", value: person.email.toUpperCase() },
  { kind: "click", value: person.gclid },
  { kind: "visitor", value: person.visitor },
];

/** Every cell of every table that holds one of the texts, as "table.column". */
export async function cellsWith(app: IngestApp, texts: string[]): Promise<string[]> {
  const found: string[] = [];
  const tables = await app.db.sql`
    select format('%I.%I', n.nspname, c.relname) as name, array_agg(a.attname::text order by a.attname) as columns from pg_class c
    join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast') group by 1 order by 1`;
  const holds = async (table: string, cell: string) =>
    (
      await app.db.sql.unsafe(
        `select from ${table} t where exists (select from unnest($1::text[]) x where strpos(lower((${cell})::text), lower(x)) > 0) limit 1`,
        [texts],
      )
    ).length > 0;
  for (const { name, columns } of tables) {
    if (!(await holds(name, "t"))) continue;
    for (const column of columns) if (await holds(name, `t."${column}"`)) found.push(`${name}.${column}`);
  }
  return found;
}
