import { createTeam, password } from "#tests/fixtures/team.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { expect, signIn, test } from "#tests/support/e2e-test.ts";
import { withOwnSite } from "#tests/support/own-site.ts";

// Guarantee: a change that needs a recent sign-in is neither lost nor typed twice: the page asks for the password and goes on.
for (const phone of [false, true]) {
  test(`after 15 minutes a new key asks for the password, and keeps what was typed${phone ? ", on a phone" : ""}`, async ({
    stack,
    visit,
  }) => {
    await withOwnSite(stack, createTeam, async (team, sql) => {
      const page = await visit({ phone });
      await signIn(page, { email: team.owner.email, password });
      await page.goto(`/dashboard/site/${team.siteId}/connections`);
      await sql`update auth.sessions set created_at = now() - interval '16 minutes' where user_id = ${team.owner.id}`;

      await page.getByRole("button", { name: "Create key" }).first().click();
      await page.getByRole("dialog").getByLabel("Name").fill("Typed once");
      await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
      const question = page.getByRole("dialog", { name: "Enter your password" });
      await question.getByLabel("Password", { exact: true }).fill("not-the-password");
      await question.getByRole("button", { name: "Continue" }).click();
      await expect(question.getByText("This is not your password.")).toBeVisible();
      await expectAccessible(page, "the question for the password");
      await question.getByRole("button", { name: "Cancel" }).click();
      await expect(page.getByRole("dialog").getByLabel("Name")).toHaveValue("Typed once");

      await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
      await question.getByLabel("Password", { exact: true }).fill(password);
      await question.getByRole("button", { name: "Continue" }).click();
      await expect(page.getByText("Copy your key now")).toBeVisible();
      await page.getByRole("button", { name: "I have stored it" }).click();
      await expect(page.getByText("Typed once")).toBeVisible();
      const [sessions] = await sql`select count(*)::int as n from auth.sessions where user_id = ${team.owner.id}`;
      expect(sessions?.n).toBe(1);
    });
  });
}
