import { expect, type Page } from "@playwright/test";
import axe, { type RunOptions } from "axe-core";
import { untilStreamed } from "./streamed.ts";

declare global {
  interface Window {
    axe: typeof axe;
  }
}

const everyRule = { type: "tag" as const, values: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"] };
/** All that a theme can break: the rest of the document is the same in both. */
const colourRules = { type: "rule" as const, values: ["color-contrast", "link-in-text-block"] };

/** Expects that axe finds nothing in the page as it stands, and that its colours hold in the other theme too. */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  await page.locator("h1").first().waitFor({ state: "attached" });
  await untilStreamed(page);
  await untilTitled(page);
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  let { isDark, problems } = await findProblems(page, everyRule);
  if (problems.some(([rule]) => rule === "document-title")) {
    await untilTitled(page); // the old one was still there before axe began
    ({ isDark, problems } = await findProblems(page, everyRule));
  }
  expect(problems, what).toEqual([]);
  const [own, other] = isDark ? (["dark", "light"] as const) : (["light", "dark"] as const);
  await page.emulateMedia({ colorScheme: other });
  const turned = await findProblems(page, colourRules);
  expect(turned, `${what}, turned ${other}`).toEqual({ isDark: !isDark, problems: [] });
  await page.emulateMedia({ colorScheme: own });
}

/** Going on inside the app takes the old title away some frames before the next one comes. */
const untilTitled = (page: Page) => page.waitForFunction(() => document.title !== "", null, { timeout: 15_000 });

type Problem = [rule: string, impact: string | null | undefined, html: string[]];

function findProblems(page: Page, runOnly: RunOptions["runOnly"]): Promise<{ isDark: boolean; problems: Problem[] }> {
  return page.evaluate(
    async (options) => {
      // In the middle of a transition a colour is neither the old nor the new one.
      const ending = document.getAnimations().filter((animation) => animation.effect?.getComputedTiming().endTime !== Infinity);
      await Promise.allSettled(ending.map((animation) => animation.finished));
      // A toast whose time is over while axe looks is gone at once: half faded, its colours are too weak.
      const still = new CSSStyleSheet();
      still.replaceSync("*, ::before, ::after { transition: none !important }");
      document.adoptedStyleSheets.push(still);
      const { violations } = await window.axe.run(document, options);
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== still);
      const problems = violations.map(({ id, impact, nodes }): Problem => [id, impact, nodes.map((node) => node.html)]);
      return { isDark: matchMedia("(prefers-color-scheme: dark)").matches, problems };
    },
    { runOnly, resultTypes: ["violations"] } satisfies RunOptions,
  );
}
