/**
 * What delivery costs beside the provider's own time: npm run bench:delivery
 *   --rows 10000   conversions      --sites 50   sites they belong to      --call-ms 50   how long Google takes for a call
 * A durable Postgres (fsync on) and a Redis of its own, the simulator in another process, the worker in this one. Overhead is the time of the
 * runs beyond what the calls themselves take when as many run at once as may (CONCURRENCY_GLOBAL_PER_PROVIDER). Ends with code 1 when a way
 * misses the goal.
 */
import { parseArgs } from "node:util";
import { demoClient } from "#scripts/local/google/accounts.ts";
import { bulkSeal } from "#tests/fixtures/bulk-seal.ts";
import { connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { createPerson, type Team } from "#tests/fixtures/team.ts";
import type { GoogleClient } from "#tests/fixtures/worker/google-client.ts";
import { type DeliveryParts, startDeliveryParts } from "./delivery-parts.ts";
import { onStage, type Stage } from "./stage.ts";

const { values: options } = parseArgs({
  options: {
    rows: { type: "string", default: "10000" },
    sites: { type: "string", default: "50" },
    "call-ms": { type: "string", default: "50" },
  },
});
const rows = Number(options.rows);
const siteCount = Number(options.sites);
const callMs = Number(options["call-ms"]);
const customerId = "3000000001";
const action = `customers/${customerId}/conversionActions/1005`;
const refreshToken = "1//bench";
/** As much as one request to the worker's route may ask for. */
const limit = 5000;
const sideBySide = 10;
const goalMs = 0.5;

await onStage(bench);

async function bench(stage: Stage): Promise<void> {
  const parts = await startDeliveryParts(stage);
  const { sql, google } = parts;
  await google.putAccount({ customerId, uploads: "allowed", refreshTokens: [refreshToken] });
  const owner = await createPerson(sql, "owner@bench.test");
  const teams: Team[] = [];
  for (let made = 0; made < siteCount; made++) teams.push(await createQueueTeam(sql, `bench-${made}`, owner, "api"));
  console.log(
    `${rows.toLocaleString("en")} conversions of ${siteCount} sites, Google takes ${callMs} ms a call, ${sideBySide} calls at once\n`,
  );
  console.log("| way | seconds | rows/s | calls to Google | their own time, s | overhead per row, ms |\n|---|---|---|---|---|---|");
  for (const transport of ["data_manager", "ads_api"] as const) {
    for (const team of teams) await connect(parts, team, transport);
    for (const team of teams) await bulkSeal(sql, team, Math.ceil(rows / siteCount));
    await sql`vacuum analyze`;
    await google.admin("POST", "/settings", { callMs });
    await measure(google, transport);
    await google.admin("POST", "/settings", { callMs: 0 });
  }
}

async function connect({ sql }: DeliveryParts, team: Team, transport: "data_manager" | "ads_api"): Promise<void> {
  const { sealCredentials } = await import("#lib/providers/credentials.ts");
  const credentials = {
    customer_id: customerId,
    client_id: demoClient.clientId,
    client_secret: demoClient.clientSecret,
    refresh_token: refreshToken,
    conversion_action_resource_name: action,
    transport,
  };
  const actions = [{ conversionName: defaultNames.seal, action, countingType: "MANY_PER_CLICK" }];
  await connectApi(sql, team, { transport, actions, ...sealCredentials(credentials, team.siteUuid, "google_ads") });
}

async function measure(google: GoogleClient, transport: string): Promise<void> {
  const { processOfflineConversions } = await import("#lib/delivery/process-offline-conversions.ts");
  const callsBefore = (await google.log()).length;
  const startedAt = performance.now();
  let delivered = 0;
  for (let completed = 1; completed > 0; delivered += completed) {
    ({ completed } = await processOfflineConversions({ limit, deadlineMs: 280_000 }));
  }
  const tookMs = performance.now() - startedAt;
  const calls = (await google.log()).length - callsBefore;
  if (delivered < rows) throw new Error(`Only ${delivered} rows were delivered.`);
  const googlesMs = (calls * callMs) / sideBySide;
  const overheadMs = (tookMs - googlesMs) / delivered;
  const cells = [(tookMs / 1000).toFixed(2), ((delivered / tookMs) * 1000).toFixed(0), calls, (googlesMs / 1000).toFixed(2)];
  console.log(`| ${transport} | ${cells.join(" | ")} | ${overheadMs.toFixed(3)} (goal ${goalMs}) |`);
  if (overheadMs > goalMs) process.exitCode = 1;
}
