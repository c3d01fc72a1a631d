import type { Page } from "@playwright/test";

/** Waits until React has put in its place what was streamed: until then it lies hidden in the page, and for a moment it may stand there twice. */
export async function untilStreamed(page: Page): Promise<void> {
  await page.waitForFunction(() => !document.querySelector("template[id^='B:'], [hidden][id^='S:']"), null, { timeout: 15_000 });
}
