import { callAs } from "#tests/fixtures/act-as.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { type DeskSite, openDeskSite } from "#tests/support/desk-site.ts";
import { e2eStack } from "#tests/support/e2e-stack.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

let desk: DeskSite;
test.beforeAll(async () => {
  desk = await openDeskSite(e2eStack(), "dinars");
  const { sql, team } = desk;
  await callAs(
    sql,
    team.owner,
    (tx) => tx`select public.update_site(${team.siteId}, 'Dinars', ${["dinars.test"]}, 'KWD', 'Asia/Kuwait', 'en', 2000)`,
  );
});
test.afterAll(() => desk.end());

const amountOf = async (call: string) =>
  (await desk.sql`select amount_cents::int as cents from public.sales where call_id = ${call}`)[0]?.cents;

// Guarantee: nobody seals twelve thousand dinars who meant twelve and a half: the screen asks, and nothing is chosen beforehand.
test("an amount with two readings is asked about before it can be sealed, by keyboard", async ({ visit }) => {
  const id = await newLead(desk.sql, desk.team, { phone: "+96550001111" });
  const page = await visit();
  await desk.open(page, desk.team.operator, `?lead=${id}`);
  const detail = page.getByRole("region", { name: /^Lead / });
  await detail.getByLabel("Other amount").fill("12.500");
  const question = detail.getByRole("group", { name: "12.500 can be read in two ways. Which amount do you mean?" });
  await expect(question.getByRole("radio", { name: /KWD\s12\.50 / })).not.toBeChecked();
  await expect(question.getByRole("radio", { name: /KWD\s12,500\.00 / })).not.toBeChecked();
  await expect(detail.getByRole("button", { name: "Seal S", exact: true })).toBeDisabled();
  await expect(detail.getByText("Choose which amount you mean.")).toBeVisible();
  await page.keyboard.press("Enter"); // in the field: nothing to seal yet
  await expectAccessible(page, "two readings on the desk");
  await page.keyboard.press("Tab"); // the currency
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  await expect(question.getByRole("radio", { name: /KWD\s12\.50 / })).toBeChecked();
  await detail.getByRole("button", { name: /^Seal KWD\s12\.50/ }).click();
  await expect(page.getByText(/Sealed for KWD\s12\.50\./)).toBeVisible();
  expect(await amountOf(id)).toBe(1250);

  await detail.getByRole("button", { name: "Correct amount" }).click();
  const dialog = page.getByRole("dialog", { name: /^Correct the amount/ });
  await dialog.getByLabel("Amount actually paid").fill("13,505");
  await dialog.getByRole("button", { name: "Correct amount" }).click();
  await expect(dialog.getByText("Choose which amount you mean.")).toBeVisible();
  await dialog.getByText("13,505 KWD").click();
  await expect(dialog.getByText("Shorten this one.")).toBeVisible();
  await dialog.getByText(/KWD\s13,505\.00/).click();
  await dialog.getByRole("button", { name: /^Correct to KWD\s13,505\.00/ }).click();
  await expect.poll(() => amountOf(id)).toBe(1_350_500);
});

test("on a phone the readings lie above the button", async ({ visit }) => {
  const id = await newLead(desk.sql, desk.team, { phone: "+96550002222" });
  const page = await visit({ phone: true });
  await desk.open(page, desk.team.operator, `?lead=${id}`);
  const sheet = page.getByRole("dialog");
  await sheet.getByRole("button", { name: "Other amount" }).tap();
  await sheet.getByRole("textbox", { name: "Other amount" }).fill("12,500");
  await expect(sheet.getByRole("button", { name: "Seal", exact: true })).toBeDisabled();
  await sheet.getByText(/KWD\s12,500\.00/).tap();
  await sheet.getByRole("button", { name: /^Seal KWD\s12,500\.00/ }).tap();
  await expect.poll(() => amountOf(id)).toBe(1_250_000);
});

// Guarantee: a file is read in one way, which somebody chose, and lines that nobody chose for are not imported.
test("a file with amounts and dates of two readings is asked about once", async ({ visit }) => {
  let day = new Date();
  do day = new Date(day.getTime() - 86_400_000);
  while (day.getUTCDate() > 12 || day.getUTCDate() === day.getUTCMonth() + 1);
  const [date, month] = [day.getUTCDate(), day.getUTCMonth() + 1];
  const file = (ref: string) => ({
    name: "sales.csv",
    mimeType: "text/csv",
    buffer: Buffer.from(`ref,date,amount\n${ref}-1,${date}/${month}/${day.getUTCFullYear()},12.500\n${ref}-2,${day.toISOString()},7.000`),
  });
  const page = await visit();
  await desk.open(page, desk.team.operator);
  const path = `/dashboard/site/${desk.team.siteId}/sales/import`;
  await page.goto(path);
  await page.getByLabel(/Choose a CSV file/).setInputFiles(file("A"));
  await expect(page.getByRole("heading", { name: "Before we read the file" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Continue", exact: true })).toBeDisabled();
  await expectAccessible(page, "questions about a file");
  await page.getByRole("button", { name: "Continue without these lines" }).click();
  await expect(page.getByText("0 new sales")).toBeVisible();
  await expect(page.getByText(/The (date|amount) can be read in two ways/)).toHaveCount(2);

  await page.getByRole("button", { name: "Choose another file" }).click();
  await page.getByLabel(/Choose a CSV file/).setInputFiles(file("B"));
  await page.getByText("The day comes first.").click();
  await page.getByText("As decimals").click();
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await expect(page.getByText(/2 new sales, KWD\s19\.50\./)).toBeVisible();
  await page.getByRole("button", { name: "Import 2 sales" }).click();
  await expect(page.getByText("2 sales are imported, 0 not.")).toBeVisible();
  const sales = await desk.sql`select amount_cents::int as cents, (occurred_at at time zone 'Asia/Kuwait')::date::text as day
    from public.sales where external_ref like 'B-%' order by external_ref`;
  const expected = day.toISOString().slice(0, 10);
  expect(sales.map((sale) => ({ ...sale }))).toMatchObject([{ cents: 1250, day: expected }, { cents: 700 }]);
});

test("a site that changes its currency is asked for the average order in it", async ({ as }) => {
  const site = await openDeskSite(e2eStack(), "moves");
  try {
    const page = await as("owner");
    await page.goto(`/dashboard/site/${site.team.siteId}/settings`);
    const card = page.getByRole("region", { name: "About the site" });
    await expect(card.getByLabel(/^Average order/)).toHaveCount(0);
    await card.getByLabel("Currency").selectOption("BHD");
    await card.getByRole("button", { name: "Save changes" }).click();
    await expect(card.getByText(/Write an amount above zero/)).toBeVisible();
    await card.getByLabel("Average order (BHD)").fill("45.500");
    await card.getByText(/BHD\s45\.50/).click();
    await expectAccessible(page, "another currency");
    await card.getByRole("button", { name: "Save changes" }).click();
    await expect(page.getByText("Changes saved")).toBeVisible();
    await expect(page.getByRole("region", { name: "Values and delivery" }).getByLabel("Average order (BHD)")).toHaveValue("45.5");
    const [stored] = await site.sql`select currency, default_aov_cents::int as cents from public.sites where id = ${site.team.siteUuid}`;
    expect({ ...stored }).toEqual({ currency: "BHD", cents: 4550 });
  } finally {
    await site.end();
  }
});
