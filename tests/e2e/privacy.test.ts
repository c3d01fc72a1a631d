import postgres from "postgres";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

// Guarantee: an owner can answer a person who asks to be forgotten, without help. Both languages type their own word.
for (const { language, words } of [
  {
    language: "en",
    words: { value: "Phone number", find: "Find", erase: "Erase this person", word: "erase", confirm: "Erase for good", salt: "Salt" },
  },
  {
    language: "tr",
    words: { value: "Telefon numarası", find: "Bul", erase: "Bu kişiyi sil", word: "SİL", confirm: "Kalıcı olarak sil", salt: "Tuz" },
  },
] as const) {
  test(`an owner finds a person, downloads what is stored, erases and gets the receipt, ${language}`, async ({ as, stack }) => {
    const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
    const siteId = String(stack.sites[0]?.siteId);
    const [lead] = await sql`select c.phone from public.calls c join public.sites s on s.id = c.site_id
      where s.public_id = ${siteId} and c.phone is not null order by c.called_at limit 1`;
    const phone = String(lead?.phone);
    const page = await as("owner", { language, phone: language === "tr" });
    await page.goto(`/dashboard/site/${siteId}/privacy`);
    await page.getByRole("textbox", { name: words.value }).fill(phone);
    await page.getByRole("button", { name: words.find }).click();
    const erase = page.getByRole("button", { name: words.erase });
    await expect(erase).toBeVisible();
    await expectAccessible(page, "what is stored of a person");
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "JSON" }).click();
    expect((await download).suggestedFilename()).toBe("person.json");
    await erase.click();
    const confirm = page.getByRole("dialog").getByRole("button", { name: words.confirm });
    await expect(confirm).toBeDisabled();
    await page.getByRole("dialog").getByRole("textbox").fill(words.word);
    await confirm.click();
    await expect(page.getByText(words.salt, { exact: true }).first()).toBeVisible();
    const left = await sql`select from public.calls where phone = ${phone}`;
    expect(left).toHaveLength(0);
    await sql.end();
  });
}
