import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { sealLead } from "#tests/fixtures/queue.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { ago, answered, takenByGoogle } from "#tests/support/api-scene.ts";
import { withApiSite } from "#tests/support/api-site.ts";
import { openCircuit, recordOutcome } from "#tests/support/circuit.ts";
import { expect, test } from "#tests/support/e2e-test.ts";
import { alive, openControl, statusOf } from "#tests/support/queue-scene.ts";

const refusedAction = { outcome: "FAILED", code: "INVALID_CONVERSION_ACTION_ID", category: "VALIDATION" } as const;
const unavailable = { outcome: "RETRY", code: "UNAVAILABLE", category: "TRANSIENT", message: "503 Service unavailable" } as const;

// Guarantee: whoever asks why nothing is sent reads it on top of the page, with the time at which it goes on.
test("an open circuit, a lost access and the reason of a row are shown", async ({ stack, visit }) => {
  await withApiSite(stack, async ({ team, sql }) => {
    const tried = await answered(sql, team, 30, unavailable, { outcome: "transient", durationMs: 5012, errorCode: "UNAVAILABLE" });
    await openCircuit(sql, team, ago(1));
    const page = await openControl(await visit(), team, team.owner, `?row=${tried.id}`);
    await expect(page.getByText(/Google is not responding\. Sending is paused\. .*We try again at .*\d\d:\d\d/)).toBeVisible();
    const drawer = page.getByRole("complementary", { name: /^Conversion / });
    await expect(drawer.getByText("Google could not answer", { exact: true }).first()).toBeVisible();
    await expect(drawer.getByText("Google could not answer · sent alone")).toBeVisible();
    const block = { outcome: "definite", block: { code: "invalid_grant", message: "revoked" } };
    await recordOutcome(sql, team, "success", ago(0));
    await answered(sql, team, 0, { outcome: "FAILED", code: "invalid_grant", category: "AUTH" }, block);
    await expect(page.getByText(/^Sending is paused: we lost access/)).toBeVisible({ timeout: 20_000 });
    await page.getByRole("status").getByRole("link", { name: "Reconnect Google Ads" }).click();
    await page.waitForURL("**/connections/google-ads?connect=1**");
  });
});

// Guarantee: what Google rejected is not the end: an operator sends it again with the same order id, once.
test("a rejection tells its reason in words and is sent again", async ({ stack, visit }) => {
  await withApiSite(stack, async ({ team, sql }) => {
    const row = await takenByGoogle(sql, team, 120, { rejected: "CLICK_NOT_FOUND" });
    const page = await openControl(await visit(), team, team.operator, `?row=${row.id}`);
    const drawer = page.getByRole("complementary", { name: /^Conversion / });
    await expect(drawer.getByText("Google rejected it. Google does not know this click.")).toBeVisible();
    await expect(drawer.getByText(`Request ${row.requestId}`)).toBeVisible();
    await drawer.getByRole("button", { name: "Retry" }).click();
    await expect(page.getByText("Queued again with the same order ID.")).toBeVisible();
    await expect(page).not.toHaveURL(new RegExp(row.id));
    await expect(drawer.getByText("Would be sent to Google")).toBeVisible();
    const rows = await sql`select status, order_id from public.offline_conversion_queue where sale_id = ${row.saleId} order by created_at`;
    expect(rows.map(({ status }) => status)).toEqual(["COMPLETED", "QUEUED"]);
    expect(rows[0]?.order_id).toBe(rows[1]?.order_id);
  });
});

test("a sale that waits for a retraction says so and leads to it; the retraction has its steps on an API site, too", async ({
  stack,
  visit,
}) => {
  await withApiSite(stack, async ({ team, sql }) => {
    const first = await takenByGoogle(sql, team, 120, "CONFIRMED");
    await change(sql, { team }, "cancel_sale", { id: first.saleId }, { at: ago(60) });
    await answered(
      sql,
      team,
      50,
      { outcome: "RETRY", code: "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE", category: "AUTH", byHand: "NO_ADS_API_ACCESS" },
      { outcome: "definite" },
    );
    const { body } = await change(sql, { team }, "seal_call", { id: first.callId, amountCents: 310_000 }, { at: ago(40) });
    const [held] = await sql`select id from public.offline_conversion_queue where sale_id = ${String(body.saleId)}`;
    const page = await openControl(await visit(), team, team.operator, `?row=${held?.id}`);
    const drawer = page.getByRole("complementary", { name: /^Conversion / });
    await expect(drawer.getByText("Waits for an earlier sale to be taken back")).toBeVisible();
    await drawer.getByRole("link", { name: "Show the retraction it waits for" }).click();
    await expect(drawer.getByText("Your Google Ads account does not let us make adjustments through the API.")).toBeVisible();
    await expect(drawer.getByText("Adjustment type RETRACTION; it needs no value.")).toBeVisible();
    // Somebody may have made it in Google Ads already: nothing sends it without saying what that risks.
    await expect(drawer.getByRole("button", { name: /^(Retry|Back to queue)$/ })).toHaveCount(0);
    await drawer.getByRole("button", { name: "Try over the API" }).click();
    const ask = page.getByRole("dialog", { name: "Try it over the API again?" });
    await expect(ask.getByText(/If somebody has retracted it, Google refuses the second retraction/)).toBeVisible();
    await ask.getByRole("button", { name: "Send over the API" }).click();
    await expect(page.getByText("1 conversion will be retried.")).toBeVisible();
    const [retraction] = await sql`
      select status, by_hand_reason from public.offline_conversion_queue where sale_id = ${first.saleId} and kind = 'RETRACT'`;
    expect({ ...retraction }).toEqual({ status: "QUEUED", by_hand_reason: null });
  });
});

// Guarantee: nobody waits for a verdict that the Google Ads API never gives.
test("what the Google Ads API took looks accepted, and says where the rest is read", async ({ stack, visit }) => {
  await withApiSite(stack, async ({ team, sql }) => {
    await connectApi(sql, team, { transport: "ads_api", at: ago(200) });
    const row = await answered(sql, team, 120, { outcome: "COMPLETED", requestId: "request-1" }, { outcome: "success" });
    const page = await openControl(await visit(), team, team.viewer, `?row=${row.id}`);
    const drawer = page.getByRole("complementary", { name: /^Conversion / });
    await expect(drawer.getByText("Accepted", { exact: true })).toBeVisible();
    await expect(drawer.getByText(/The Google Ads API answers at once.*can be read only in Google Ads\./)).toBeVisible();
    await drawer.getByRole("button", { name: "Why was it not counted?" }).click();
    const answer = page.getByRole("dialog", { name: "Why was it not counted?" });
    await expect(answer.getByText("Sending to Google: done")).toBeAttached();
    await expect(answer.getByText("Google's verdict")).toHaveCount(0);
    await answer.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Day by day" }).click();
    await expect(page.getByText(/What Google makes of that conversion can be read only in Google Ads\./)).toBeVisible();
  });
});

// Guarantee: a correction made where its consequence is read does what it says there.
test("the amount is corrected from the drawer, with the days that are left", async ({ stack, visit }) => {
  await withApiSite(stack, async ({ team, sql }) => {
    const row = await takenByGoogle(sql, team, 120, "CONFIRMED");
    const page = await openControl(await visit(), team, team.operator, `?row=${row.id}`);
    const drawer = page.getByRole("complementary", { name: /^Conversion / });
    await expect(drawer.getByText(/^Google accepts corrections until .+, 53 days left\.$/)).toBeVisible();
    await drawer.getByRole("button", { name: "Correct amount" }).click();
    const dialog = page.getByRole("dialog", { name: "Correct the amount?" });
    await expect(dialog.getByText(/The new amount is sent to Google\./)).toBeVisible();
    await dialog.getByLabel("Amount actually paid").fill("3900");
    await dialog.getByRole("button", { name: "Correct to ₺3,900" }).click();
    await expect(page.getByText("Corrected to ₺3,900.")).toBeVisible();
    const rows =
      await sql`select kind, status, value_cents from public.offline_conversion_queue where sale_id = ${row.saleId} order by created_at`;
    expect(rows.map(({ kind, status }) => `${kind} ${status}`)).toEqual(["CONVERSION COMPLETED", "RESTATE QUEUED"]);
    expect(Number(rows[1]?.value_cents)).toBe(390_000);
    // Guarantee: what was changed here is undone here, by its name, also after a reload.
    await alive(page, () => page.reload());
    await drawer.getByRole("button", { name: /^Undo correction to ₺3,900 \(\d+:\d\d\)$/ }).click();
    await expect(page.getByText("Undone. The amount is ₺4,250 again.")).toBeVisible();
    await drawer.getByRole("button", { name: "Cancel sale" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel sale" }).click();
    await expect(page.getByText("The sale is cancelled.")).toBeVisible();
    await drawer.getByRole("button", { name: /^Undo cancellation/ }).click();
    await expect(page.getByText("Undone. The sale is sealed again.")).toBeVisible();
    await expect(drawer.getByRole("button", { name: "Correct amount" })).toBeEnabled();
  });
});

// Guarantee: the question that every customer asks has an answer wherever a sale is seen.
test("why a sale was not counted is answered from the row, from the sale and from the lead", async ({ stack, visit }) => {
  await withApiSite(stack, async ({ team, sql }) => {
    const row = await takenByGoogle(sql, team, 20);
    const page = await openControl(await visit(), team, team.viewer, `?row=${row.id}`);
    const answer = page.getByRole("dialog", { name: "Why was it not counted?" });
    const expectAnswer = async () => {
      await expect(answer.getByText(/Google has not said yet whether it counts; we ask again at .*\d\d:\d\d\./)).toBeVisible();
      await expect(answer.getByText("Google's verdict: waiting")).toBeAttached();
      await answer.getByRole("button", { name: "Close" }).click();
      await expect(answer).toBeHidden();
    };
    await page.getByRole("button", { name: "Why was it not counted?" }).click();
    await expectAnswer();
    await page.goto(`/dashboard/site/${team.siteId}/sales`);
    await page.getByRole("button", { name: "Why was it not counted?" }).click();
    await expectAnswer();
    await page.goto(`/dashboard/site/${team.siteId}?lead=${row.callId}`);
    await page.getByRole("button", { name: "Why was it not counted?" }).click();
    await expectAnswer();
  });
});

test("sent and counted, day by day: shown, shared by its address, and exported", async ({ stack, visit }) => {
  await withApiSite(stack, async ({ team, sql }) => {
    await takenByGoogle(sql, team, 3 * 1440, "CONFIRMED");
    const rejected = await takenByGoogle(sql, team, 2 * 1440, { rejected: "CLICK_NOT_FOUND" });
    const page = await openControl(await visit(), team, team.viewer);
    await page.getByRole("button", { name: "Day by day" }).click();
    await expect(page).toHaveURL(/tab=days/);
    const table = page.getByRole("table", { name: "Sent and counted" });
    await expect(table.getByRole("row")).toHaveCount(3);
    await page.getByRole("button", { name: "7 days" }).click();
    await expect(page).toHaveURL(/last=7/);
    await alive(page, () => page.reload());
    await expect(table.getByRole("row")).toHaveCount(3);
    await expect(page.locator("dl > div", { hasText: "Rejected" })).toContainText("50% of what was sent");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download these days as CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^delivery-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
    await table.getByRole("link", { name: /^1 rejected on/ }).click();
    await expect(page).toHaveURL(/verdict=REJECTED/);
    await expect(page.locator("[data-row]")).toHaveCount(1);
    await expect(page.locator(`[data-row="${rejected.id}"]`)).toBeVisible();
  });
});

test("a viewer reads all of it and is offered nothing that would be refused", async ({ stack, visit }) => {
  await withApiSite(stack, async ({ team, sql }) => {
    const row = await takenByGoogle(sql, team, 120, { rejected: "CLICK_NOT_FOUND" });
    const page = await openControl(await visit(), team, team.viewer, `?row=${row.id}`);
    await expect(page.getByText("Google rejected it. Google does not know this click.")).toBeVisible();
    await expect(page.getByRole("complementary").getByRole("button", { name: /Retry|Correct amount|Cancel sale/ })).toHaveCount(0);
  });
});

for (const { size, phone, theme } of [
  { size: "desktop", phone: false, theme: "dark" },
  { size: "phone", phone: true, theme: "light" },
] as const) {
  test(`story, answer and days are accessible and fit, ${size}, first ${theme}`, async ({ stack, visit }) => {
    test.slow();
    await withApiSite(stack, async ({ team, sql }) => {
      const row = await takenByGoogle(sql, team, 120, { rejected: "CLICK_NOT_FOUND" });
      await sealLead(sql, team, { at: ago(10) });
      const page = await openControl(await visit({ theme, phone }), team, team.operator, `?row=${row.id}`);
      await expect(page.getByText("Change the sale")).toBeVisible();
      await expectAccessible(page, "story");
      await page.getByRole("button", { name: "Why was it not counted?" }).click();
      await expect(page.getByText("What to do")).toBeVisible();
      await expectAccessible(page, "answer");
      await page.goto(`/dashboard/site/${team.siteId}/oci-control?tab=days`);
      await expect(page.getByRole("table", { name: "Sent and counted" })).toBeVisible();
      await expectAccessible(page, "days");
      expect(await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")).toBe(true);
      expect(await statusOf(sql, [row.id])).toEqual(["COMPLETED"]);
    });
  });
}

// Guarantee: nobody is offered a button on an archived site that the server refuses, and everybody reads why. Mutation: mayActOn by role alone.
test("an archived site offers no action and says why", async ({ stack, visit }) => {
  await withApiSite(stack, async ({ team, sql }) => {
    const row = await answered(sql, team, 30, refusedAction, { outcome: "definite" });
    const page = await openControl(await visit(), team, team.owner, `?row=${row.id}`);
    const drawer = page.getByRole("complementary", { name: /^Conversion / });
    await expect(drawer.getByText(/Choose another action under Connections, Google Ads\./)).toBeVisible();
    await expect(drawer.getByRole("link", { name: "Choose an action" })).toBeVisible();
    await expect(drawer.getByRole("button", { name: "Back to queue" })).toBeVisible();
    await callAs(sql, team.owner, (tx) => tx`select public.set_site_archived(${team.siteId}, true)`);
    await alive(page, () => page.reload());
    await expect(page.getByText("This site is archived. Nothing is sent, and nothing can be changed here.")).toBeVisible();
    await expect(drawer.getByText(/Choose another action under Connections/)).toBeVisible();
    await expect(drawer.getByRole("link", { name: "Choose an action" })).toHaveCount(0);
    await expect(drawer.getByRole("button", { name: "Back to queue" })).toHaveCount(0);
  });
});
