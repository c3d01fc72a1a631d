import { createHash, randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { figuresOf, type IngestApp, type IngestSite, startIngestApp } from "#tests/support/ingest-app.ts";

/** Batches that reach the database at the same moment, as from several instances. */

let app: IngestApp;
let site: IngestSite;
let sql: postgres.Sql;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
  site = await app.newSite();
  sql = postgres(app.db.adminUrl, { max: 8, fetch_types: false });
  await Promise.all(Array.from({ length: 8 }, () => sql`select pg_sleep(0.1)`)); // eight connections, so that nobody waits for one
});
afterAll(async () => {
  await sql.end();
  await app.stop();
});

/** The same hundred ids with other labels: other keys, so in another order. */
const batchOf = (eids: string[]) =>
  eids.map((e) => ({ k: createHash("sha256").update(randomUUID()).digest("hex"), e, n: "interaction/view", p: { visitor: e } }));

// Guarantee: one stranger's batches do not hold the connections that everybody shares. Mutation: call claim_keys instead of claim_keys_in_turn.
test("a stranger sends the same ids in eight batches at once: no deadlock, none fails, each event is admitted once", {
  timeout: 120_000,
}, async () => {
  for (let round = 1; round <= 6; round++) {
    const eids = Array.from({ length: 100 }, () => randomUUID());
    const admitted = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const [row] = await sql<{ answer: { results: string[] } }[]>`
          select public.admit_events(${site.siteUuid}, ${sql.json(batchOf(eids))}) as answer`;
        return row?.answer.results.filter((result) => result === "accepted").length ?? 0;
      }),
    );
    expect(admitted.reduce((sum, each) => sum + each)).toBe(100);
    expect((await figuresOf(app.db, site)).billed).toBe(100 * round);
  }
});
