import type postgres from "postgres";
import { callSecretPlace } from "#lib/ingest/call-secret.ts";
import type { SiteUuid } from "#lib/site.ts";
import { type KeyRing, sealSecret } from "#lib/vault/secret.ts";

interface ClearRow {
  siteUuid: SiteUuid;
  present: string;
  previous: string | null;
  isReplaced: boolean;
}

const batchMax = 200;

/** Call secrets of a database from before they were encrypted. Seals them site by site, then drops the clear columns. */
export async function sealClearSecrets(sql: postgres.Sql, ring: KeyRing): Promise<number> {
  const columns = await sql`
    select from information_schema.columns
    where table_schema = 'private' and table_name = 'site_secrets' and column_name = 'call_event_secret'`;
  if (columns.length === 0) return 0;
  await sql`alter table private.site_secrets alter column call_event_secret drop not null`;
  let sealed = 0;
  for (;;) {
    const rows = await sql<ClearRow[]>`
      select site_id as "siteUuid", call_event_secret as present, previous_call_event_secret as previous, sealed is not null as "isReplaced"
      from private.site_secrets where call_event_secret is not null order by site_id limit ${batchMax}`;
    if (rows.length === 0) break;
    for (const row of rows) if (await sealRow(sql, ring, row)) sealed += 1;
  }
  await sql`alter table private.site_secrets drop column call_event_secret, drop column previous_call_event_secret`;
  return sealed;
}

/** One row in one statement. If its owner made a new secret meanwhile, nothing changes and the next round reads it again. */
async function sealRow(sql: postgres.Sql, ring: KeyRing, { siteUuid, present, previous, isReplaced }: ClearRow): Promise<boolean> {
  const sealOne = (secret: string) => sealSecret(secret, callSecretPlace(siteUuid), ring);
  const now = sealOne(present);
  const before = isReplaced ? now : previous === null ? null : sealOne(previous);
  const done = await sql`
    update private.site_secrets x
      set key_id = coalesce(x.key_id, ${now.keyId}), sealed = coalesce(x.sealed, ${now.sealed}),
          previous_key_id = coalesce(x.previous_key_id, ${before?.keyId ?? null}),
          previous_until = case
            when x.previous_until is null and ${before !== null}
            then private.current_moment() + private.replaced_secret_life() else x.previous_until end,
          previous_sealed = coalesce(x.previous_sealed, ${before?.sealed ?? null}),
          call_event_secret = null, previous_call_event_secret = null
      where x.site_id = ${siteUuid} and x.call_event_secret = ${present} and (x.sealed is not null) = ${isReplaced}
      returning x.site_id`;
  return done.length > 0;
}
