import { rmSync } from "node:fs";
import postgres from "postgres";
import { signInAsOwner } from "#scripts/local/demo/connect-as-owner.ts";
import { OutsideWorld } from "#scripts/local/demo/story/others/outside-world.ts";
import { Troubles } from "#scripts/local/demo/story/others/troubles.ts";
import { StoryNotes } from "#scripts/local/demo/story/story-notes.ts";
import { readBooks } from "#scripts/local/demo/story/trace-lead.ts";
import type { CallRecord } from "#scripts/local/google/sim-shapes.ts";
import { temporaryStateDir } from "#scripts/local/process/state-dir.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { expect, test } from "#tests/support/e2e-test.ts";
import { founderOf } from "#tests/support/own-site.ts";
import { takeTurn, tickDelivery } from "#tests/support/tick-delivery.ts";

// Guarantee: what the demo says goes wrong really goes wrong, and the product does about it what the story says. Leads and sales of those who
// keep coming travel the same way, so this also holds for them.
test("each trouble of the demo leaves its conversion in the state that the story names", async ({ stack }) => {
  test.slow();
  const { googleUrl } = stack;
  const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
  await takeTurn(sql, "delivering");
  const stateDir = temporaryStateDir();
  const owner = await founderOf(sql, stack);
  const db = await signInAsOwner({ supabaseUrl: stack.supabaseUrl, publishableKey: stack.supabasePublishableKey }, stack);
  const notes = new StoryNotes(stateDir, () => "");
  const world = new OutsideWorld(stack.baseUrl, sql, new AbortController().signal);
  const troubles = new Troubles({ sql, googleUrl, notes, owner: { id: owner.id, db } }, world);
  const ticker = setInterval(() => void tickDelivery(stack), 1_000);
  const outcome = async (name: keyof typeof troubles.played) => {
    const rows = await sql`
      select q.status, q.order_id, d.verdict, q.provider_error_category as category, h.blocked_code is not null as blocked
      from public.sales s join public.offline_conversion_queue q on q.sale_id = s.id
      left join public.provider_dispatches d on d.queue_id = q.id left join public.provider_health_state h on h.site_id = s.site_id
      where s.gclid = ${troubles.played[name]?.gclid ?? ""}`;
    expect(rows, "one sale, one row").toHaveLength(1);
    return { ...rows[0] };
  };
  try {
    await troubles.playAll();
    // First what waits for another try, which begins after 90 seconds.
    await expect.poll(() => outcome("duplicate"), { timeout: 30_000 }).toMatchObject({ status: "RETRY", category: "TRANSIENT" });
    const lost = await outcome("duplicate");
    await expect.poll(() => outcome("expired"), { timeout: 30_000 }).toMatchObject({ status: "COMPLETED", verdict: "REJECTED" });
    const hasIt = async () => (await readBooks(googleUrl)).filter(({ orderId }) => orderId === lost.order_id).length;
    await expect.poll(hasIt, { timeout: 30_000 }).toBe(1);
    // By now it may have been sent again, so Google is asked whether it refused it once.
    const { calls } = await (await fetch(`${googleUrl}/__sim/log`)).json();
    expect(calls.filter(({ accounts, status }: CallRecord) => accounts.includes("5550001111") && status === 429)).toHaveLength(1);
    expect((await outcome("rateLimit")).status).toMatch(/^(RETRY|PROCESSING|COMPLETED)$/);
    expect(await outcome("revoked")).toMatchObject({ status: "FAILED", category: "AUTH", blocked: true });
  } finally {
    clearInterval(ticker);
    for (const { siteId } of Object.values(notes.now.troubledSites))
      await callAs(sql, owner, (tx) => tx`select public.set_site_archived(${siteId}, true)`);
    await sql.end();
    rmSync(stateDir, { recursive: true, force: true });
  }
});
