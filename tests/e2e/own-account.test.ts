import type { Page } from "@playwright/test";
import { createTeam, type Person, password } from "#tests/fixtures/team.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { expect, fillSignIn, test } from "#tests/support/e2e-test.ts";
import { withOwnSite } from "#tests/support/own-site.ts";

async function signIn(page: Page, person: Person, word = password): Promise<Page> {
  await page.goto("/sign-in");
  await fillSignIn(page, person.email, word);
  await page.waitForURL("**/dashboard**");
  return page;
}

// Guarantee: whoever finds a browser left open cannot take the account over from its own form.
test("changing the password asks for the present one, refuses a common one, and signs out elsewhere", async ({ stack, visit }) => {
  await withOwnSite(stack, createTeam, async (team) => {
    const page = await signIn(await visit(), team.viewer);
    await signIn(await visit(), team.viewer); // elsewhere
    await page.goto("/dashboard/account");
    await page.getByRole("link", { name: "Change password" }).click();
    const save = async (present: string, next: string) => {
      await page.getByLabel("Current password", { exact: true }).fill(present);
      await page.getByLabel("New password", { exact: true }).fill(next);
      await page.getByRole("button", { name: "Save password" }).click();
    };
    await save("not-my-password", "a-quiet-long-sentence");
    await expect(page.getByText("This is not your password.")).toBeVisible();
    await save(password, "Galatasaray1905");
    await expect(page.getByText("This password is too easy to guess")).toBeVisible();
    await save(password, "a-quiet-long-sentence");
    await expect(page).toHaveURL(({ pathname }) => pathname === "/dashboard/account"); // the form has it in its query
    await expect(page.getByRole("button", { name: "Sign out everywhere else" })).toHaveCount(0); // the other session ended
    await signIn(await visit(), team.viewer, "a-quiet-long-sentence");
  });
});

for (const phone of [false, true]) {
  test(`sessions are listed and ended; an owner hands over or archives, then goes${phone ? ", on a phone" : ""}`, async ({
    stack,
    visit,
  }) => {
    await withOwnSite(stack, createTeam, async (team) => {
      const page = await signIn(await visit({ phone }), team.owner);
      await signIn(await visit(), team.owner); // elsewhere
      await page.goto("/dashboard/account");
      await expectAccessible(page, "the account page");
      await expect(page.getByText("This device", { exact: true })).toHaveCount(1);
      await page.getByRole("button", { name: "Sign out everywhere else" }).click();
      await expect(page.getByText("Other devices are signed out within an hour.")).toBeVisible(); // for some seconds
      await expect(page.getByRole("button", { name: "Sign out everywhere else" })).toHaveCount(0);

      await expect(page.getByText("You are its only owner.")).toBeVisible();
      await expect(page.getByRole("button", { name: "Delete my account" })).toHaveCount(0);
      await page.getByRole("link", { name: "archive the site" }).click();
      await page.getByRole("button", { name: "Archive site" }).click();
      const dialog = page.getByRole("dialog");
      await dialog
        .getByRole("textbox")
        .fill((await dialog.getByText(/^Type .* to confirm$/).textContent())?.replace(/^Type (.*) to confirm$/, "$1") ?? "");
      await dialog.getByRole("button", { name: "Archive site" }).click();
      await page.waitForURL("**/dashboard");
      await page.goto("/dashboard/account");
      await page.getByRole("button", { name: "Delete my account" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete the account" }).click();
      await expect(page).toHaveURL(/\/sign-in/);
      await fillSignIn(page, team.owner.email, password);
      await expect(page.getByText("do not match")).toBeVisible();
    });
  });
}
