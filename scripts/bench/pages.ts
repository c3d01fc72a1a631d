/**
 * What each page costs a browser with an empty cache: requests, JavaScript as sent without headers (those are 11 kB on Today), the document, and the largest contentful paint; then
 * how long going there from Today takes. `npm run bench:pages [-- <address> …]` against the running demo, or several builds of one demo's data.
 */
import { type Browser, type BrowserContext, type Cookie, chromium } from "@playwright/test";
import { readDemoFile } from "../local/demo/demo-file.ts";
import { findChromium } from "../local/ensure-system-packages.ts";
import { isRoot } from "../local/process/state-dir.ts";

interface Cost {
  requests: number;
  scriptKb: number;
  documentKb: number;
  lcpMs: number;
}

const rounds = 3;
const sitePages = [
  "",
  "/oci-control",
  "/sales",
  "/activity",
  "/billing",
  "/connections",
  "/connections/google-ads",
  "/members",
  "/privacy",
  "/settings",
];

const demo = readDemoFile();
if (!demo) throw new Error("No demo is running: scripts/demo");
const [site] = demo.sites;
const owner = demo.users.find(({ role }) => role === "owner");
if (!site || !owner) throw new Error("The demo has no site or no owner.");
const base = `/dashboard/site/${site.siteId}`;
const addresses = process.argv.slice(2).length > 0 ? process.argv.slice(2) : [demo.baseUrl];

const executablePath = findChromium();
const browser = await chromium.launch({ ...(executablePath && { executablePath }), args: isRoot() ? ["--no-sandbox"] : [] });
try {
  const cookies = await signIn(browser, demo.baseUrl, owner);
  console.log(["page", ...addresses.flatMap(() => ["requests", "JS kB gz", "HTML kB gz", "LCP ms", "soft ms"])].join("\t"));
  for (const path of ["/sign-in", "/dashboard", ...sitePages.map((page) => base + page)]) {
    const cells: (string | number)[] = [path.replace(base, "site") || "/"];
    for (const address of addresses) {
      const costs: Cost[] = [];
      for (let round = 0; round < rounds; round++) costs.push(await visit(browser, path === "/sign-in" ? [] : cookies, address + path));
      const { requests, scriptKb, documentKb } = middle(costs, (cost) => cost.scriptKb);
      const soft = path.startsWith(`${base}/`) ? await softNavigation(browser, cookies, address, path) : "";
      cells.push(requests, scriptKb, documentKb, middle(costs, (cost) => cost.lcpMs).lcpMs, soft);
    }
    console.log(cells.join("\t"));
  }
} finally {
  await browser.close();
}

function middle<T>(of: T[], by: (each: T) => number): T {
  const found = of.toSorted((a, b) => by(a) - by(b))[Math.floor(of.length / 2)];
  if (found === undefined) throw new Error("Nothing was measured.");
  return found;
}

async function signIn(from: Browser, address: string, { email, password }: { email: string; password: string }): Promise<Cookie[]> {
  const context = await from.newContext({ locale: "en" });
  const page = await context.newPage();
  await page.goto(`${address}/sign-in`);
  await page.getByLabel("Email", { exact: true }).fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/dashboard");
  const { cookies } = await context.storageState();
  await context.close();
  return cookies.filter(({ name }) => name.startsWith("om_session"));
}

async function open(from: Browser, cookies: Cookie[]): Promise<BrowserContext> {
  const context = await from.newContext({ locale: "en", viewport: { width: 1440, height: 900 } });
  await context.addCookies(cookies);
  return context;
}

async function visit(from: Browser, cookies: Cookie[], url: string): Promise<Cost> {
  const context = await open(from, cookies);
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send("Network.enable");
  const answers = new Map<string, { type: string; headerBytes: number }>();
  const bytes = { Script: 0, Document: 0 };
  let requests = 0;
  cdp.on("Network.requestWillBeSent", () => requests++);
  cdp.on("Network.responseReceived", ({ requestId, type, response }) =>
    answers.set(requestId, { type, headerBytes: response.encodedDataLength }),
  );
  cdp.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    const { type, headerBytes = 0 } = answers.get(requestId) ?? {};
    if (type === "Script" || type === "Document") bytes[type] += encodedDataLength - headerBytes;
  });
  await page.goto(url, { waitUntil: "load" });
  await page.waitForTimeout(1_500); // what the page fetches by itself, prefetched pages included
  const lcpMs = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => resolve(list.getEntries().at(-1)?.startTime ?? 0)).observe({
          type: "largest-contentful-paint",
          buffered: true,
        });
      }),
  );
  await context.close();
  const kb = (count: number) => Math.round(count / 100) / 10;
  return { requests, scriptKb: kb(bytes.Script), documentKb: kb(bytes.Document), lcpMs: Math.round(lcpMs) };
}

/** From a press on the navigation until the page's own heading stands, in the browser's own time. */
async function softNavigation(from: Browser, cookies: Cookie[], address: string, path: string): Promise<number | string> {
  const context = await open(from, cookies);
  const page = await context.newPage();
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await page.goto(address + base, { waitUntil: "load" });
    await page.waitForTimeout(1_500);
    const took = await page.evaluate(
      (target) =>
        new Promise<number>((resolve) => {
          const link = document.querySelector<HTMLAnchorElement>(`nav a[href="${target}"]`);
          if (!link) return resolve(-1);
          const before = document.querySelector("main h1");
          const from = performance.now();
          const watch = new MutationObserver(() => {
            const now = document.querySelector("main h1");
            if (now && now !== before && location.pathname === target) {
              watch.disconnect();
              requestAnimationFrame(() => resolve(performance.now() - from));
            }
          });
          watch.observe(document.body, { childList: true, subtree: true });
          link.click();
        }),
      path,
    );
    times.push(took);
  }
  await context.close();
  const typical = Math.round(middle(times, (time) => time));
  return typical < 0 ? "" : typical;
}
