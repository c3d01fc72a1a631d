import { randomUUID } from "node:crypto";
import {
  type BrowserContext,
  type BrowserContextOptions,
  test as base,
  type Cookie,
  expect,
  type Page,
  type Request,
} from "@playwright/test";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { untilAwake } from "./awake.ts";
import { e2eStack } from "./e2e-stack.ts";
import { untilStreamed } from "./streamed.ts";

type Role = "owner" | "operator" | "viewer";

interface Visit {
  phone?: boolean;
  theme?: "light" | "dark";
  language?: "en" | "tr";
}

interface Fixtures {
  stack: DemoFile;
  /** A page in a browser of its own, nobody signed in. */
  visit(options?: Visit): Promise<Page>;
  /** A page of somebody who has signed in. */
  as(role: Role, options?: Visit): Promise<Page>;
}

interface WorkerFixtures {
  sessions: Map<Role, { cookies: Cookie[]; signedInAt: number }>;
}

/** Keys, roles, secrets and credentials ask for a sign-in of the last 15 minutes, so nobody here goes on with an old one. */
const sessionLifeMs = 8 * 60_000;

export async function fillSignIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel("Email", { exact: true }).fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/**
 * Without a graphics card, a skeleton that pulses has the processor draw the page anew for each frame. Only that: whatever fades in or out
 * still takes its time, since tests press keys meanwhile.
 */
function holdSkeletonsStill(): void {
  const still = new CSSStyleSheet();
  still.replaceSync(".animate-pulse { animation: none !important }");
  document.adoptedStyleSheets.push(still);
}

const plain = (html: string) => html.replaceAll("&quot;", '"').replaceAll("&amp;", "&");

/**
 * Signs in with the product's own form, sent as a browser without scripts sends it, which loads no page. Tests that are about signing in
 * fill the form.
 */
export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  const { request } = page.context();
  const shown = await request.get("/sign-in");
  const html = await shown.text();
  const form = html.match(/<form\b(?:(?!<\/form>).)*name="password".*?<\/form>/s)?.[0] ?? "";
  const hidden = [...form.matchAll(/<input type="hidden" name="([^"]*)"(?: value="([^"]*)")?/g)];
  const fields = Object.fromEntries(hidden.map(([, name = "", value = ""]) => [plain(name), plain(value)]));
  const headers = { origin: new URL(shown.url()).origin };
  const answer = await request.post("/sign-in", { multipart: { ...fields, email, password }, headers, maxRedirects: 0 });
  expect(answer.status(), `${email} signs in`).toBe(303);
}

/**
 * A look while content is being streamed finds two of everything, and a key or a letter before the page is awake is lost. So `goto` and
 * `reload` end after both, unless they were told where to end.
 */
function waitingUntilSettled(page: Page): Page {
  const settled = () =>
    untilStreamed(page)
      .then(() => untilAwake(page))
      .catch(() => {}); // what never settles is for the test to see
  const { goto, reload } = page;
  page.goto = async (url, options) => {
    const response = await goto.call(page, url, options);
    if (!options?.waitUntil) await settled();
    return response;
  };
  page.reload = async (options) => {
    const response = await reload.call(page, options);
    if (!options?.waitUntil) await settled();
    return response;
  };
  return page;
}

/** What each page has asked for and not got an answer to. */
const unanswered = new WeakMap<Page, Set<Request>>();

function watchRequests(page: Page): Page {
  const waiting = new Set<Request>();
  unanswered.set(page, waiting);
  page.on("request", (request) => waiting.add(request));
  for (const end of ["requestfinished", "requestfailed"] as const) page.on(end as "requestfinished", (request) => waiting.delete(request));
  return page;
}

/** What a failed test had before it: often that alone says what went wrong. */
async function printPages(contexts: BrowserContext[]): Promise<void> {
  for (const page of contexts.flatMap((context) => context.pages())) {
    const shown = await page.locator("body").ariaSnapshot({ timeout: 2_000 }).catch(String);
    const waiting = [...(unanswered.get(page) ?? [])].map((request) => `still waiting for ${request.method()} ${request.url()}`);
    console.log(`\n${page.url()}\n${waiting.join("\n")}\n${shown.slice(0, 4_000)}\n`);
  }
}

export const test = base.extend<Fixtures, WorkerFixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures a fixture needs from this pattern
  sessions: [async ({}, use) => use(new Map()), { scope: "worker" }],
  // biome-ignore lint/correctness/noEmptyPattern: as above
  stack: async ({}, use) => use(e2eStack()),
  visit: async ({ browser, baseURL }, use, testInfo) => {
    const contexts: BrowserContext[] = [];
    await use(async ({ phone = false, theme = "light", language = "en" } = {}) => openPage({ phone, theme, language }));
    if (testInfo.status !== testInfo.expectedStatus) await printPages(contexts);
    // A page that stays open goes on asking what is new.
    await Promise.all(contexts.map((context) => context.close()));

    async function openPage(
      { phone, theme, language }: Required<Visit>,
      storageState?: BrowserContextOptions["storageState"],
    ): Promise<Page> {
      const context = await browser.newContext({
        viewport: phone ? { width: 390, height: 844 } : { width: 1440, height: 900 },
        hasTouch: phone,
        colorScheme: theme,
        locale: language,
        ...(baseURL && { baseURL }),
        // Each visitor has an address of their own, so that one test's attempts do not count against another's limit.
        extraHTTPHeaders: { "x-forwarded-for": `test-${randomUUID()}` },
        ...(storageState && { storageState }),
      });
      contexts.push(context);
      await context.addInitScript(holdSkeletonsStill);
      return waitingUntilSettled(watchRequests(await context.newPage()));
    }
  },
  as: async ({ visit, stack, sessions }, use) => {
    await use(async (role, options) => {
      const page = await visit(options);
      const known = sessions.get(role);
      if (known && Date.now() - known.signedInAt < sessionLifeMs) {
        await page.context().addCookies(known.cookies);
      } else {
        const user = stack.users.find((candidate) => candidate.role === role);
        if (!user) throw new Error(`The demo has no ${role}.`);
        await signIn(page, user);
        const cookies = await page.context().cookies();
        const own = cookies.filter((cookie) => cookie.name.startsWith("om_session"));
        sessions.set(role, { cookies: own, signedInAt: Date.now() });
      }
      return page;
    });
  },
});

export { expect };

/** The newest mail to an address, as text with its links. */
export async function mailTo(stack: DemoFile, address: string, before = ""): Promise<string> {
  let found = "";
  await expect
    .poll(async () => {
      const mails: { to: string; html?: string; text?: string }[] = await (await fetch(`${stack.mailUrl}?format=json`)).json();
      found = JSON.stringify(mails.find((mail) => mail.to === address) ?? "");
      return found.length > 2 && found !== before;
    })
    .toBe(true);
  return found;
}

/** Where the link in a mail leads. */
export function linkIn(mail: string): string {
  const link = mail.replaceAll("&amp;", "&").match(/https?:\/\/[^"'\\\s<>]*\/auth\/confirm\?[^"'\\\s<>]*/)?.[0];
  if (!link) throw new Error(`No link in ${mail}`);
  return link;
}
