import type { Page } from "@playwright/test";

/**
 * Waits until React has taken over every control of an app's page, and its effects have run. Before that a shortcut is lost, and a letter
 * typed into a field is seen but not known.
 */
export async function untilAwake(page: Page): Promise<void> {
  await page.waitForFunction(
    () => {
      if (!("__next_f" in window)) return true; // a page of somebody else
      const controls = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea")];
      return controls.every((control) => Object.keys(control).some((key) => key.startsWith("__reactFiber$")));
    },
    null,
    { timeout: 15_000 },
  );
  await page.evaluate(() => new Promise<unknown>((resolve) => requestIdleCallback(resolve)));
}
