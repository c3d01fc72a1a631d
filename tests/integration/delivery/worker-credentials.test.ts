import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deliverGroup } from "#lib/delivery/deliver-group.ts";
import type { Pipeline } from "#lib/delivery/pipeline.ts";
import { sealPipeline } from "#lib/delivery/pipelines.ts";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { startBudget } from "#lib/delivery/run-budget.ts";
import { connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { readRow } from "#tests/fixtures/queue.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { readHealth } from "#tests/support/circuit.ts";
import { type DeliveryApp, scriptedProvider, startDeliveryApp, testCredentials } from "#tests/support/delivery-app.ts";

let app: DeliveryApp;
beforeAll(async () => {
  app = await startDeliveryApp();
});
afterAll(() => app.stop());

const deliver = (provider = scriptedProvider(), more: { limit?: number; deadlineMs?: number; now?: () => Date } = {}) =>
  processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider, ...more });

const rowsOf = (ids: { id: string }[]) => Promise.all(ids.map(({ id }) => readRow(app.sql, id)));

// Guarantee: a server with the wrong vault key sends nothing, fails nothing and says which variable is wrong.
test("credentials that do not open: rows wait, no attempt is spent, nothing is blocked", async () => {
  const team = await app.newSite();
  const rows = await app.seal(team);
  await connectApi(app.sql, team); // sealed with a key that nobody has
  const provider = scriptedProvider();
  expect(await deliver(provider)).toMatchObject({ processed: 1, retry: 1 });
  const [row] = await rowsOf(rows);
  expect(row).toMatchObject({ status: "RETRY", provider_error_code: "VAULT_KEY_MISMATCH", attempt_count: 0 });
  expect(row?.last_error).toContain("OPSMANTIK_VAULT_KEY");
  expect(provider.uploads).toEqual([]);
  expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0, blocked_at: null });
});

// Guarantee: credentials that an older version stored are a sentence on the rows, not a run that throws every ten minutes and says nothing.
test("credentials that open and are incomplete: rows wait, no attempt is spent, and the field is named", async () => {
  const team = await app.newSite();
  const rows = await app.seal(team);
  const { refresh_token: _token, ...incomplete } = testCredentials;
  await app.connect(team, { credentials: incomplete as typeof testCredentials });
  const provider = scriptedProvider();
  expect(await deliver(provider)).toMatchObject({ processed: 1, retry: 1 });
  const [row] = await rowsOf(rows);
  expect(row).toMatchObject({ status: "RETRY", provider_error_code: "CREDENTIALS_UNREADABLE", attempt_count: 0 });
  expect(row?.last_error).toContain("refresh_token");
  expect(provider.uploads).toEqual([]);
  expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0, blocked_at: null });
});

// Guarantee: rows that were claimed for a new account never leave with the old one's access: Data Manager would count them in the old account.
// Mutation that breaks it: send with the credentials at hand when the claim's do not open.
describe("another account is connected between reading the credentials and claiming", () => {
  const other = { ...testCredentials, customer_id: "5555555555" };
  const actions = [{ conversionName: defaultNames.seal, action: "customers/5555555555/conversionActions/1" }];
  async function deliverWhile(team: Team, before: () => Promise<unknown>, after: () => Promise<unknown> = async () => undefined) {
    const provider = scriptedProvider();
    const claim: Pipeline["claim"] = async (...args) => {
      await before();
      const claimed = await sealPipeline.claim(...args);
      await after();
      return claimed;
    };
    const group = (await sealPipeline.listGroups()).find(({ siteUuid }) => siteUuid === team.siteUuid);
    if (!group) throw new Error("The site has no due rows.");
    const run = { provider, now: () => new Date(), budget: startBudget(60_000) };
    return { provider, tally: await deliverGroup({ ...sealPipeline, claim }, group, 2, run) };
  }

  test("credentials that open are used", async () => {
    const team = await app.newSite();
    await app.seal(team);
    const { provider } = await deliverWhile(team, () => app.connect(team, { credentials: other, actions }));
    expect(provider.uploads).toMatchObject([
      { connection: { credentials: { customer_id: "5555555555" } }, jobs: [{ conversionAction: actions[0]?.action }] },
    ]);
  });

  test("credentials that do not open: the rows wait, and no attempt is spent", async () => {
    const team = await app.newSite();
    const rows = await app.seal(team, 2);
    const { provider, tally } = await deliverWhile(team, () => connectApi(app.sql, team, { actions })); // sealed with a key that nobody has
    expect(provider.uploads).toEqual([]);
    expect(tally).toEqual({ claimed: 2, completed: 0, failed: 0, retry: 2 });
    for (const row of await rowsOf(rows)) {
      expect(row).toMatchObject({ status: "RETRY", provider_error_code: "VAULT_KEY_MISMATCH", free_waits: 1, may_have_arrived: false });
      expect(row.attempt_count - row.attempt_base).toBe(0);
    }
    expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0, blocked_at: null });
  });

  test("credentials that changed once more after the claim: the rows wait", async () => {
    const team = await app.newSite();
    const rows = await app.seal(team);
    const moveAway = () => app.connect(team, { credentials: other, actions });
    const { provider } = await deliverWhile(team, () => app.connect(team), moveAway);
    expect(provider.uploads).toEqual([]);
    expect(await rowsOf(rows)).toMatchObject([{ status: "RETRY", provider_error_code: "CREDENTIALS_CHANGED", free_waits: 1 }]);
  });
});
