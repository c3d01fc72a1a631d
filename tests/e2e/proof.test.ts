import postgres from "postgres";
import { receiptFault } from "#lib/contracts/proof-hash.ts";
import { proofReceipt } from "#lib/contracts/receipt-shape.ts";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

/** A lead of the second site, moved over HTTP with the site's own key, as another system would. */
async function moveLead(stack: DemoFile, visitor: string) {
  const site = stack.sites[1];
  const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
  try {
    const [row] = await sql`select id from public.sites where public_id = ${site?.siteId ?? ""}`;
    const step = {
      at: new Date(),
      category: "conversion",
      action: "phone_call",
      url: "https://harbourdental.co.uk/",
      intentStamp: visitor,
    };
    await recordVisit(sql, row?.id, visitor, [step]);
    let id: string | undefined;
    const stored = async () => {
      await fetch(`${stack.baseUrl}/api/cron/ingest/recover`, { headers: { authorization: `Bearer ${stack.cronSecret}` } });
      [{ id } = { id: undefined }] = await sql<{ id: string }[]>`select id from public.calls where intent_stamp = ${visitor}`;
      return id;
    };
    await expect.poll(stored, { timeout: 25_000 }).toBeDefined(); // the demo's own events may stand before it
    const answer = await fetch(`${stack.baseUrl}/v1/contract/transition`, {
      method: "POST",
      headers: { "x-api-key": site?.crmKey ?? "", "idempotency-key": visitor },
      body: JSON.stringify({ contract: "call", id, to: "qualified" }),
    });
    expect(answer.status).toBe(200);
    const { proof_id } = await answer.json();
    await sql`select public.seal_proof_blocks()`;
    return String(proof_id);
  } finally {
    await sql.end();
  }
}

// Guarantee: what a member copies from the page is proof in anybody's hands.
test("a viewer reads the receipt of a move and copies it as JSON that holds", async ({ as, stack }) => {
  test.slow();
  const proofId = await moveLead(stack, `proof-${Date.now()}`);
  const page = await as("viewer");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`/dashboard/proofs/${proofId}`);
  const card = page.getByRole("region", { name: "Proof of a change" });
  await expect(card).toContainText("qualified");
  await expect(card.getByText("In a block", { exact: true })).toBeVisible();
  await expect(page.getByRole("alert").filter({ hasText: "does not add up" })).toHaveCount(0);
  await page.getByRole("button", { name: "Copy receipt (JSON)" }).click();
  await expect(page.getByText("Copied")).toBeVisible();
  const copied = proofReceipt.parse(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())));
  expect([copied.proof_id, receiptFault(copied)]).toEqual([proofId, null]);

  await page.getByRole("button", { name: "How to check it" }).click();
  await expect(page.getByRole("dialog", { name: "Check this receipt yourself" })).toBeVisible();
  await expectAccessible(page, "how to check a receipt");
});

test("on a phone, in Turkish, in the dark, it fits and is accessible; an unknown one is not found", async ({ as, stack }) => {
  test.slow();
  const proofId = await moveLead(stack, `proof-tr-${Date.now()}`);
  const page = await as("operator", { phone: true, theme: "dark", language: "tr" });
  await page.goto(`/dashboard/proofs/${proofId}`);
  await expect(page.getByRole("region", { name: "Değişikliğin kanıtı" })).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  await expectAccessible(page, "a receipt");
  for (const unknown of ["0190b5a8-3f5c-7c1e-8a34-5f0f1c2d3e4f", "seven"]) {
    await page.goto(`/dashboard/proofs/${unknown}`);
    await expect(page.getByRole("region", { name: "Değişikliğin kanıtı" })).toHaveCount(0);
  }
});

test("an unknown address below /v1 is a problem document, and the endpoint needs a credential", async ({ stack }) => {
  const unknown = await fetch(`${stack.baseUrl}/v1/nowhere`);
  expect([unknown.status, (await unknown.json()).code]).toEqual([404, "NOT_FOUND"]);
  const stranger = await fetch(`${stack.baseUrl}/v1/contract/transition`, { method: "POST", body: "{}" });
  expect([stranger.status, (await stranger.json()).code]).toEqual([401, "UNAUTHENTICATED"]);
});
