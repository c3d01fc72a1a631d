import { test } from "@playwright/test";
import type postgres from "postgres";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";

const deliveryCrons = ["/api/cron/process-offline-conversions", "/api/cron/providers/poll-verdicts"];

/** What the demo's ticker does every five seconds, for delivery alone. */
export async function tickDelivery({ baseUrl, cronSecret }: Pick<DemoFile, "baseUrl" | "cronSecret">): Promise<void> {
  const headers = { authorization: `Bearer ${cronSecret}` };
  await Promise.allSettled(deliveryCrons.map((path) => fetch(new URL(path, baseUrl), { headers })));
}

/** Any number: the lock's name. */
const deliveryLock = 527_001;
/** The longest that a test may hold the lock. */
const turnMs = 360_000;

/**
 * Delivery takes what is due on every site, also on those of a test beside it. Tests that let it run do so together; one whose rows must stay
 * where they are waits for its turn, alone. It lasts until `sql`, of one connection, ends.
 */
export async function takeTurn(sql: postgres.Sql, how: "delivering" | "undelivered"): Promise<void> {
  test.setTimeout(test.info().timeout + turnMs); // the others' time is not this test's
  if (how === "delivering") await sql`select pg_advisory_lock_shared(${deliveryLock})`;
  else await sql`select pg_advisory_lock(${deliveryLock})`;
}
