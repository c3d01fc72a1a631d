import { readFileSync } from "node:fs";
import { parseCsv } from "#lib/csv/csv.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

// Guarantee: nobody imports a file blindly: each line says what it will do before anything is saved, and what it did after.
test("a file of sales is previewed with its errors, imported, and imported again without effect", async ({ as, stack }, testInfo) => {
  const page = await as("operator");
  const base = `/dashboard/site/${stack.sites[0]?.siteId}/sales`;
  const ref = `E2E-${Date.now()}`;
  const file = {
    name: "satislar.csv",
    mimeType: "text/csv",
    buffer: Buffer.from(
      [
        "Sipariş No;Tarih;Tutar;Telefon;Not",
        `${ref}-1;${daysAgo(1)};4.250,50;0500 111 22 33;Onarım`,
        `${ref}-2;${daysAgo(2)};1.250;;Bakım`,
        `${ref}-3;dün;1.250;;`,
        `${ref}-4;${daysAgo(2)};bedava;;`,
        `${ref}-5;${daysAgo(200)};1.250;;`,
      ].join("\r\n"),
    ),
  };
  await page.goto(base);
  await page.getByRole("link", { name: "Import CSV" }).click();
  await page.getByLabel(/Choose a CSV file/).setInputFiles(file);
  await expect(page.getByText("2 new sales, ₺5,500.50.")).toBeVisible();
  await expect(page.getByText("3 cannot be imported")).toBeVisible();
  const preview = page.getByRole("table", { name: "Before anything is saved" });
  await expect(preview.getByText("The date cannot be read")).toBeVisible();
  await expect(preview.getByText("The amount cannot be read")).toBeVisible();
  await expect(preview.getByText("Older than 90 days, or in the future")).toBeVisible();

  await page.getByRole("button", { name: "Import 2 sales" }).click();
  await expect(page.getByText("2 sales are imported, 3 not.")).toBeVisible();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download the result" }).click()]);
  const path = testInfo.outputPath("result.csv");
  await download.saveAs(path);
  const lines = parseCsv(readFileSync(path, "utf8").replace(/^\ufeff/, ""));
  expect(lines.map(([row, , result]) => `${row} ${result}`)).toEqual([
    "row result",
    "2 created",
    "3 created",
    "4 refused",
    "5 refused",
    "6 refused",
  ]);

  await page.getByRole("link", { name: "See the sales" }).click();
  await page.getByLabel("State", { exact: true }).selectOption("DRAFT");
  await expect(page).toHaveURL(/status=DRAFT/);
  const draft = page.getByRole("row").filter({ hasText: `${ref}-1` });
  await draft.getByRole("button", { name: "Seal ₺4,250.50" }).click();
  await expect(page.getByText("Sealed for ₺4,250.50")).toBeVisible();
  await expect(draft).toHaveCount(0);

  // Guarantee: a wrong press on an imported sale is taken back, by its name and also after a reload.
  await page.goto(`${base}?q=${ref}-1`);
  await page.reload();
  await draft.getByRole("button", { name: /^Undo seal of ₺4,250\.50 \(\d+:\d\d\)$/ }).click();
  await expect(page.getByText("Undone. The sale is no longer sealed.")).toBeVisible();
  await expect(draft.getByText("Cancelled", { exact: true })).toBeVisible();
  await expect(draft.getByRole("button", { name: /^Undo/ })).toHaveCount(0);
  await expect(draft.getByRole("button", { name: "Seal ₺4,250.50" })).toBeVisible();

  await page.goto(`${base}/import`);
  await page.getByLabel(/Choose a CSV file/).setInputFiles(file);
  await expect(page.getByText(/0 new sales, ₺0\. .*2 are known already/)).toBeVisible();
  await expect(page.getByRole("button", { name: "Import 0 sales" })).toBeDisabled();
});

test("a file without the columns it needs says which, and a viewer is not offered an import", async ({ as, stack }) => {
  const base = `/dashboard/site/${stack.sites[0]?.siteId}/sales`;
  const page = await as("operator");
  await page.goto(`${base}/import`);
  await page
    .getByLabel(/Choose a CSV file/)
    .setInputFiles({ name: "x.csv", mimeType: "text/csv", buffer: Buffer.from("name,total\nAyşe,5") });
  await expect(page.getByText("The file has no column for reference, date.")).toBeVisible();
  const viewer = await as("viewer");
  await viewer.goto(base);
  await expect(viewer.getByRole("table", { name: "Sales" })).toBeVisible();
  await expect(viewer.getByRole("link", { name: "Import CSV" })).toHaveCount(0);
});

// Guarantee: "who changed this, and what was it before" has an answer that can be sent to a colleague.
test("headings sort the activity log by keyboard, say so, and stay in the address", async ({ as, stack }) => {
  const page = await as("operator");
  await page.goto(`/dashboard/site/${stack.sites[0]?.siteId}/activity`);
  const heading = (name: string) => page.getByRole("columnheader", { name });
  await expect(heading("When")).toHaveAttribute("aria-sort", "descending");
  await heading("Who").getByRole("link").press("Enter");
  await expect(page).toHaveURL(/sort=who$/);
  await expect(heading("Who")).toHaveAttribute("aria-sort", "ascending");
  await expect(heading("When")).not.toHaveAttribute("aria-sort");
  const who = (await page.locator("tbody tr td:nth-child(2)").allInnerTexts()).filter((name) => name.includes("@"));
  expect(who).toEqual(who.toSorted());
  await heading("Who").getByRole("link").press("Enter");
  await expect(heading("Who")).toHaveAttribute("aria-sort", "descending");
  await page.reload();
  await expect(heading("Who")).toHaveAttribute("aria-sort", "descending");
});

test("the activity log is filtered by person, kind and day in the address, and taken home as a file", async ({ as, stack }, testInfo) => {
  const page = await as("viewer");
  const path = `/dashboard/site/${stack.sites[0]?.siteId}/activity`;
  await page.goto(path);
  const rows = page.getByRole("table", { name: "Activity" }).locator("tbody tr");
  await expect(rows).toHaveCount(50);
  await page.getByLabel("What", { exact: true }).selectOption("corrected");
  await expect(page).toHaveURL(/kind=corrected/);
  await expect(rows.first()).toContainText("Corrected");
  await expect(rows.filter({ hasNot: page.getByText("Corrected") })).toHaveCount(0);
  await page.getByLabel("Who", { exact: true }).selectOption({ label: stack.users[1]?.email ?? "" });
  await expect(page).toHaveURL(/actor=/);
  await expect(rows.filter({ hasText: stack.users[0]?.email ?? "" })).toHaveCount(0);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "CSV" }).click()]);
  await download.saveAs(testInfo.outputPath("activity.csv"));
  const [header, ...lines] = parseCsv(readFileSync(testInfo.outputPath("activity.csv"), "utf8"));
  expect(header?.slice(0, 3)).toEqual(["time_utc", "who", "what"]);
  expect(new Set(lines.map(([, who, what]) => `${who} ${what}`))).toEqual(new Set([`${stack.users[1]?.email} corrected`]));
  await page.goto(`${path}?day=2001-01-01`);
  await expect(page.getByText("Nothing fits these filters")).toBeVisible();
  await page.getByRole("link", { name: "Clear filters" }).click();
  await page.getByRole("link", { name: "Next page" }).click();
  await expect(rows.first()).toBeVisible();
  await page.getByRole("link", { name: "First page" }).click();
  await expect(page).toHaveURL(new RegExp(`${path}$`));
});

// Guarantee: the figure of a stage is the one that is sent (tests/integration/seal/valuation-parity.test.ts compares both), not a share of its own.
test("an owner sees what is sent for a sale without an amount and for earlier stages, while typing", async ({ as, stack }) => {
  const page = await as("owner");
  await page.goto(`/dashboard/site/${stack.sites[1]?.siteId}/settings`);
  const values = page.getByRole("table", { name: "What we send to Google" });
  await page.getByLabel("Average order (GBP)").fill("1,000.00");
  const share = page.getByLabel("Share of Sealed, no amount given in percent");
  await share.fill("90");
  await expect(values.getByRole("row").filter({ hasText: "Sealed" })).toContainText("£900");
  const stages = page.getByLabel("Also send earlier stages to Google as separate conversions");
  await stages.uncheck();
  await expect(values.getByRole("row")).toHaveCount(2);
  await stages.check();
  await expect(values.getByRole("row").filter({ hasText: "within 3 days" })).toContainText(/50%.*£500/);
  await expect(values.getByRole("row").filter({ hasText: "later" })).toContainText(/10%.*£100/);
  await page.getByLabel("Sending delay (minutes)").fill("2000");
  const card = page.getByRole("region", { name: "Values and delivery" });
  await card.getByRole("button", { name: "Save changes" }).click();
  await expect(card.getByText("This number is too small or too large.")).toBeVisible();
  await page.getByLabel("Sending delay (minutes)").fill("0");
  await card.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByText("Changes saved. They apply from now on.")).toBeVisible();
  await page.reload();
  await expect(share).toHaveValue("90");
  await expect(page.getByLabel("Average order (GBP)")).toHaveValue("1000");
});

test("an owner who gives two conversions one name is told why that does not work", async ({ as, stack }) => {
  const page = await as("owner");
  await page.goto(`/dashboard/site/${stack.sites[1]?.siteId}/settings`);
  const card = page.getByRole("region", { name: "Values and delivery" });
  const name = card.locator('input[name="seal"]');
  const before = await name.inputValue();
  await name.fill(await card.locator('input[name="page_view"]').inputValue());
  await card.getByRole("button", { name: "Save changes" }).click();
  await expect(card.getByText("Two of these names are the same.", { exact: false })).toBeVisible();
  await page.reload();
  await expect(name).toHaveValue(before);
});
