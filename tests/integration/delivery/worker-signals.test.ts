import { afterAll, beforeAll, expect, test } from "vitest";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { ProviderTransientError } from "#lib/providers/provider-error.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { openCircuit, readHealth } from "#tests/support/circuit.ts";
import { anHourAgo, type DeliveryApp, readAttempts, scriptedProvider, startDeliveryApp } from "#tests/support/delivery-app.ts";

let app: DeliveryApp;
beforeAll(async () => {
  app = await startDeliveryApp();
});
afterAll(() => app.stop());

/** Leads that a person qualified: each has signals that may be sent. */
async function siteWithSignals(leads: number): Promise<Team> {
  const team = await app.newSite();
  await deliverySettings(app.sql, team, { signalsEnabled: true });
  for (let made = 0; made < leads; made++) {
    const id = await newLead(app.sql, team, { at: anHourAgo() });
    await change(app.sql, { team }, "change_call", { id, to: "qualified" }, { at: new Date(anHourAgo().getTime() + 60_000) });
  }
  return team;
}

const deliver = (provider = scriptedProvider(), limit = 500) => processOfflineConversions({ limit, deadlineMs: 60_000, provider });
const statusesOf = async (team: Team) =>
  (
    await app.sql`select dispatch_status, count(*)::int from public.marketing_signals where site_id = ${team.siteUuid} group by 1 order by 1`
  ).map((row) => [row.dispatch_status, row.count]);

// Guarantee: signals never keep a sealed conversion waiting: they take what the seals leave of the limit.
test("seals go first, signals get the rest", async () => {
  const team = await siteWithSignals(3);
  const rows = await app.seal(team, 2);
  const provider = scriptedProvider();
  expect(await deliver(provider, 4)).toMatchObject({ processed: 4, completed: 4 });
  const [seals, signals] = provider.uploads;
  expect(seals?.jobs.map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id).sort());
  expect(signals?.jobs.map(({ orderId }) => orderId.startsWith("signal_"))).toEqual([true, true]);
  expect(await deliver(provider, 2)).toMatchObject({ completed: 2 });
});

test("with the limit used up by seals no signal is sent", async () => {
  const team = await siteWithSignals(1);
  await app.seal(team, 2);
  const provider = scriptedProvider();
  await deliver(provider, 2);
  expect(provider.uploads).toHaveLength(1);
  await deliver();
});

// Guarantee: seals and signals see one provider: an open circuit stops both, and both count for it.
test("signals share circuit, ledger and metrics with seals", async () => {
  const team = await siteWithSignals(1);
  await deliver(
    scriptedProvider(() => {
      throw new ProviderTransientError("Google answered 503");
    }),
  );
  expect(await readHealth(app.sql, team)).toMatchObject({ failure_count: 1 });
  const [started, finished] = await readAttempts(app.sql, team);
  expect(finished).toMatchObject({ phase: "FINISHED", retry_count: started?.claimed_count, error_category: "TRANSIENT" });
  const other = await siteWithSignals(1);
  await openCircuit(app.sql, other, new Date());
  const provider = scriptedProvider();
  await deliver(provider);
  expect(provider.uploads).toEqual([]);
  expect((await statusesOf(other)).map(([status]) => status)).toEqual(["PENDING"]);
});
