import type { Locator } from "@playwright/test";
import postgres from "postgres";
import { type SiteId, siteUuidShape } from "#lib/site.ts";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { QueueScene } from "#tests/fixtures/queue-scene.ts";
import { expect, test } from "#tests/support/e2e-test.ts";
import { alive } from "#tests/support/queue-scene.ts";
import { takeTurn, tickDelivery } from "#tests/support/tick-delivery.ts";

/** The demo's ticker, for delivery alone: the same routes, five seconds apart, until something is shown. What a tick itself takes does not count. */
async function tickUntil(stack: DemoFile, shown: Locator, ticks: number): Promise<void> {
  for (let tick = 1; tick <= ticks; tick++) {
    await tickDelivery(stack);
    const isShown = await shown.waitFor({ timeout: 5_000 }).then(
      () => true,
      () => false,
    );
    if (isShown) return;
  }
  throw new Error(`Nothing was shown after ${ticks} ticks.`);
}

/** A sealed lead on the demo's API site; its row's id. */
async function sealOnApiSite(sql: postgres.Sql, stack: DemoFile): Promise<{ siteId: SiteId; rowId: string }> {
  const siteId = stack.sites.find(({ syncMethod }) => syncMethod === "api")?.siteId ?? ("" as SiteId);
  const [site] = await sql`select id from public.sites where public_id = ${siteId}`;
  const people = await sql`select id, email from auth.users where email = any (${stack.users.map(({ email }) => email)})`;
  const [owner, operator, viewer] = stack.users.map(({ email }) => ({
    email,
    id: String(people.find((one) => one.email === email)?.id),
  }));
  if (!owner || !operator || !viewer) throw new Error("The demo has three people.");
  const scene = new QueueScene(sql, { siteId, siteUuid: siteUuidShape.parse(site?.id), owner, operator, viewer });
  const [rowId = ""] = await scene.sealed([{ amountCents: 64_300, sealedAgo: 1 }]);
  return { siteId, rowId };
}

// Guarantee: what an operator seals on an API site is confirmed by Google before their eyes, without anybody doing anything.
test("a sealed lead of the API site is confirmed by Google within six ticks of the demo, on the screen", async ({ as, stack }) => {
  test.slow();
  const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
  try {
    await takeTurn(sql, "delivering");
    const page = await as("operator");
    const { siteId, rowId } = await sealOnApiSite(sql, stack);
    await alive(page, () => page.goto(`/dashboard/site/${siteId}/oci-control?row=${rowId}`));
    const drawer = page.getByRole("complementary", { name: /^Conversion / });
    await expect(drawer.getByText("£643.00").first()).toBeVisible();
    await tickUntil(stack, drawer.getByText("Google counted it").first(), 6);
  } finally {
    await sql.end();
  }
});
