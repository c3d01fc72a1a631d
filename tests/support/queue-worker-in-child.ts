/** Run as a process of its own by tests that kill workers: claims rows, says which, settles them, until it is killed. */
import { appendFileSync } from "node:fs";
import postgres from "postgres";
import { claimedRows, type PackedClaim } from "#lib/delivery/claimed-rows.ts";
import { seededRandom } from "#scripts/local/seeded-random.ts";

const [url = "", siteUuid = "", seed = "1", logPath = "", batchMax = "1"] = process.argv.slice(2);
const random = seededRandom(Number(seed));
const sql = postgres(url, { max: 1, onnotice: () => {} });

type Claim = { token: string } & PackedClaim<{ id: string; attemptCount: number }>;

for (;;) {
  const [claimed] = await sql<{ claim: Claim }[]>`
    select public.claim_offline_conversion_jobs_v2(${siteUuid}, 'google_ads', ${1 + Math.floor(random() * Number(batchMax))}, 1000) as claim`;
  const { token, ...packed } = claimed?.claim ?? { token: "", rows: [] };
  const rows = claimedRows(packed);
  if (rows.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 20)); // nothing is due: what a cron's pause would be
    continue;
  }
  // The provider's own book: what it was handed, whatever becomes of this process.
  appendFileSync(logPath, rows.map((row) => `${row.id} ${row.attemptCount}\n`).join(""));
  await new Promise((resolve) => setTimeout(resolve, random() * 30)); // the provider thinks; this is when most are killed
  const results = rows.map(({ id }) =>
    random() < 0.9
      ? { id, outcome: "COMPLETED", requestId: token }
      : { id, outcome: "RETRY", category: "RATE_LIMIT", code: "429", retryAt: new Date(0).toISOString() },
  );
  await sql`select public.settle_offline_conversion_jobs(${siteUuid}, ${token}, ${sql.json(results)}, 'ads_api', 1000)`;
}
