import { gzipSync } from "node:zlib";
import { expect, test } from "#tests/support/e2e-test.ts";

const budgetBytes = 200_000;

// Guarantee: an operator's phone has Today's script soon. Counted is what the page itself asks for, each file as gzip makes it; what a page loads later,
// when a pointer or the focus comes near, is not. Mutation: importing Base UI's dialog or zod in a part of Today (20 and 32 kB more).
test("Today begins with at most 200 kB of JavaScript", async ({ as, stack }) => {
  const page = await as("owner");
  const document = await page.request.get(`/dashboard/site/${stack.sites[0]?.siteId}`);
  const tags = [...(await document.text()).matchAll(/<script [^>]*src="([^"]+\.js[^"]*)"[^>]*>/g)].filter(
    ([tag]) => !/nomodule/i.test(tag),
  );
  const files = [...new Set(tags.map(([, src]) => src ?? ""))];
  expect(files.length).toBeGreaterThan(5);
  const sizes = await Promise.all(files.map(async (file) => gzipSync(await (await page.request.get(file)).body()).length));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(budgetBytes);
});
