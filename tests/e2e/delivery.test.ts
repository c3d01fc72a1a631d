import postgres from "postgres";
import { type SiteId, siteUuidShape } from "#lib/site.ts";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { QueueScene } from "#tests/fixtures/queue-scene.ts";
import { expect, test } from "#tests/support/e2e-test.ts";
import { alive } from "#tests/support/queue-scene.ts";
import { tickDelivery } from "#tests/support/tick-delivery.ts";

/** The demo's ticker, for delivery alone: the same routes, every five seconds. */
function startTicker(stack: DemoFile): () => void {
  const timer = setInterval(() => void tickDelivery(stack), 5_000);
  return () => clearInterval(timer);
}

/** A sealed lead on the demo's API site; its row's id. */
async function sealOnApiSite(stack: DemoFile): Promise<{ siteId: SiteId; rowId: string }> {
  const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
  try {
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
  } finally {
    await sql.end();
  }
}

// Guarantee: what an operator seals on an API site is confirmed by Google before their eyes, without anybody doing anything.
test("a sealed lead of the API site is confirmed by Google within 30 seconds, on the screen", async ({ as, stack }) => {
  test.slow();
  const page = await as("operator");
  const { siteId, rowId } = await sealOnApiSite(stack);
  await alive(page, () => page.goto(`/dashboard/site/${siteId}/oci-control?row=${rowId}`));
  const drawer = page.getByRole("complementary", { name: /^Conversion / });
  await expect(drawer.getByText("£643.00").first()).toBeVisible();
  const stopTicker = startTicker(stack);
  try {
    await expect(drawer.getByText("Google counted it").first()).toBeVisible({ timeout: 30_000 });
  } finally {
    stopTicker();
  }
});
