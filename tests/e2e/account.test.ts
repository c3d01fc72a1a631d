import type { SiteId } from "#lib/site.ts";
import { expect, fillSignIn, linkIn, mailTo, test } from "#tests/support/e2e-test.ts";

test("signing in leads back to where one wanted to go, and signing out closes it", async ({ visit, stack }) => {
  const page = await visit();
  const [site] = stack.sites;
  const owner = stack.users[0];
  await page.goto(`/dashboard/site/${site?.siteId}/members?from=mail`);
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await fillSignIn(page, owner?.email ?? "", owner?.password ?? "");
  await expect(page).toHaveURL(new RegExp(`/dashboard/site/${site?.siteId}/members\\?from=mail$`));
  await expect(page.getByRole("heading", { name: "Members" })).toBeVisible();

  await page.goto("/dashboard/account");
  await page.getByRole("main").getByRole("button", { name: "Sign out", exact: true }).click();
  await expect(page).toHaveURL(/\/sign-in/);
  await page.goto("/dashboard");
  await expect(page).toHaveURL(/\/sign-in\?next=/);
});

test("a wrong password says so, keeps the address, and empties the password", async ({ visit, stack }) => {
  const page = await visit();
  const email = stack.users[1]?.email ?? "";
  await page.goto("/sign-in");
  await fillSignIn(page, email, "not-the-password");
  await expect(page.getByRole("alert").filter({ hasText: "do not match" })).toBeVisible();
  await expect(page.getByLabel("Email", { exact: true })).toHaveValue(email);
  await expect(page.getByLabel("Password", { exact: true })).toHaveValue("");
});

// Guarantee: a crafted link to our sign-in page cannot send somebody to another site.
test("a foreign return address is ignored", async ({ visit, stack }) => {
  const page = await visit();
  const viewer = stack.users[2];
  await page.goto("/sign-in?next=https%3A%2F%2Fevil.test%2Fdashboard");
  await fillSignIn(page, viewer?.email ?? "", viewer?.password ?? "");
  await expect(page).toHaveURL(/localhost:\d+\/dashboard$/);
});

test("the session's cookie is out of reach of scripts", async ({ as }) => {
  const page = await as("viewer");
  await page.goto("/dashboard");
  const cookies = await page.context().cookies();
  const session = cookies.filter((cookie) => cookie.name.startsWith("om_session"));
  expect(session.length).toBeGreaterThan(0);
  for (const cookie of session) expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Lax" });
  expect(await page.evaluate("document.cookie")).not.toContain("om_session");
});

// Guarantee: somebody who forgot their password gets in again, and a link that was used once opens nothing.
test("a forgotten password is replaced through a mail, once", async ({ visit, as, stack }) => {
  const email = `forgetful-${Date.now()}@person.test`;
  const owner = await as("owner");
  await inviteFromPage(owner, stack.sites[0]?.siteId as SiteId, email);
  await finishInvitation(await visit(), stack, email, "the-first-password");

  const invitation = await mailTo(stack, email);
  const page = await visit();
  await page.goto("/sign-in");
  await page.getByRole("link", { name: "Forgot it?" }).click();
  await expect(page.getByRole("heading", { name: "Forgot your password?" })).toBeVisible();
  await page.getByLabel("Email", { exact: true }).fill(email);
  await page.getByRole("button", { name: "Send the link" }).click();
  await expect(page.getByText("Look in your inbox.")).toBeVisible();
  const link = linkIn(await mailTo(stack, email, invitation)); // it leaves after the answer

  await page.goto(link);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("New password", { exact: true }).fill("short");
  await page.getByRole("button", { name: "Save password" }).click();
  await expect(page.getByText("Use at least 10 characters.")).toBeVisible();
  await page.getByLabel("New password", { exact: true }).fill("the-second-password");
  await page.getByRole("button", { name: "Save password" }).click();
  await expect(page).toHaveURL(/\/dashboard$/);

  const again = await visit();
  await again.goto("/sign-in");
  await fillSignIn(again, email, "the-first-password");
  await expect(again.getByText("do not match")).toBeVisible();
  await fillSignIn(again, email, "the-second-password");
  await expect(again).toHaveURL(/\/dashboard$/);

  const thief = await visit();
  await thief.goto(link);
  await thief.getByRole("button", { name: "Continue" }).click();
  await expect(thief.getByText("This link has expired or was used already.")).toBeVisible();
});

// Guarantee: whoever registers somebody else's address first gets neither in nor keeps a password to it.
test("an account that a stranger made in somebody's name is theirs alone once they confirm it", async ({ visit, as, stack }) => {
  const email = `boss-${Date.now()}@corp.test`;
  const signUp = await fetch(`${stack.supabaseUrl}/auth/v1/signup`, {
    method: "POST",
    headers: { apikey: stack.supabasePublishableKey, "content-type": "application/json" },
    body: JSON.stringify({ email, password: "the-strangers-password" }),
  });
  expect((await signUp.json()).access_token, "an unconfirmed address gets no session").toBeUndefined();
  await inviteFromPage(await as("owner"), stack.sites[0]?.siteId as SiteId, email);

  const boss = await visit();
  await boss.goto(linkIn(await mailTo(stack, email)));
  await boss.getByRole("button", { name: "Continue" }).click();
  await expect(boss.getByRole("heading", { name: "Choose a password" })).toBeVisible();
  await expect(boss.getByText("Keep my current password")).toHaveCount(0);

  const stranger = await visit();
  await stranger.goto("/sign-in");
  await fillSignIn(stranger, email, "the-strangers-password");
  await expect(stranger.getByText("do not match")).toBeVisible();
});

test("asking for a link answers the same for an address without an account", async ({ visit }) => {
  const page = await visit();
  await page.goto("/forgot-password");
  await page.getByLabel("Email", { exact: true }).fill("nobody@nowhere.test");
  await page.getByRole("button", { name: "Send the link" }).click();
  await expect(page.getByText("Look in your inbox.")).toBeVisible();
});

type VisitPage = Awaited<ReturnType<Parameters<Parameters<typeof test>[2]>[0]["visit"]>>;

async function inviteFromPage(page: VisitPage, siteId: SiteId, email: string): Promise<void> {
  await page.goto(`/dashboard/site/${siteId}/members`);
  await page.getByRole("button", { name: "Invite" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Email").fill(email);
  await dialog.getByRole("button", { name: "Send invitation" }).click();
  await expect(page.getByText(`Invitation sent to ${email}`)).toBeVisible();
}

async function finishInvitation(page: VisitPage, stack: Parameters<typeof mailTo>[0], email: string, password: string): Promise<void> {
  await page.goto(linkIn(await mailTo(stack, email)));
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("New password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Save password" }).click();
  await page.getByRole("button", { name: "Accept" }).click();
  await expect(page).toHaveURL(/\/dashboard\/site\/[0-9a-f]{32}$/);
}
