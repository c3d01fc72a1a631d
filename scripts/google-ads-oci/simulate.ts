/** `npm run script:simulate [-- --preview] [site's public id]`: runs the customers' script once against the running demo and says what changed. */
import postgres from "postgres";
import { readDemoFile } from "#scripts/local/demo/demo-file.ts";
import { demoCustomerId } from "#scripts/local/google/accounts.ts";
import { AdsAccount } from "#tests/fixtures/ads-script/ads-account.ts";

const demo = readDemoFile();
if (!demo) {
  console.error("No demo is running. Start one with npm run demo.");
  process.exit(1);
}
const args = process.argv.slice(2);
const isPreview = args.includes("--preview");
const wanted = args.find((arg) => /^[0-9a-f]{32}$/.test(arg));
const site = demo.sites.find(({ siteId, syncMethod }) => (wanted ? siteId === wanted : syncMethod === "script"));
if (!site) {
  console.error("The demo has no such site.");
  process.exit(1);
}

const sql = postgres(demo.adminDatabaseUrl, { max: 1 });
const countStates = async () =>
  Object.fromEntries(
    (
      await sql`select q.status, count(*)::int as rows from public.offline_conversion_queue q join public.sites s on s.id = q.site_id
        where s.public_id = ${site.siteId} group by 1 order by 1`
    ).map(({ status, rows }) => [status, rows]),
  );
const before = await countStates();
const properties = { OPSMANTIK_SITE_ID: site.siteId, OPSMANTIK_API_KEY: site.apiKey, OPSMANTIK_BASE_URL: demo.baseUrl };
const account = new AdsAccount(properties, "Europe/Istanbul", { url: demo.googleUrl, customerId: demoCustomerId });
const run = await account.runScript({ isPreview });
const after = await countStates();
await sql.end();

for (const line of run.logs) console.log(line);
if (run.error) console.log(run.error);
console.log(
  `\n${site.domain}: Google counts ${account.conversions.size}, refused ${account.rejected.length}, duplicates ${account.duplicates.length}`,
);
for (const state of new Set([...Object.keys(before), ...Object.keys(after)]))
  console.log(`${state.padEnd(10)} ${before[state] ?? 0} → ${after[state] ?? 0}`);
process.exitCode = run.error ? 1 : 0;
