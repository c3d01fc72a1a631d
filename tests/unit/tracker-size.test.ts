import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { installSnippet } from "#lib/ingest/install-snippet.ts";
import { tracker } from "#lib/ingest/tracker.gen.ts";
import type { SiteId } from "#lib/site.ts";
import { releasedIntegrity } from "#lib/tracker/releases.ts";
import { compressedBytes, integrityOf, renderTracker } from "#scripts/render-tracker.ts";

const siteId = "0123456789abcdef0123456789abcdef" as SiteId;
const served = readFileSync(`public${tracker.path}`);

// Guarantee: a customer's page is not slowed down by a tracker that grew unnoticed.
test("the tracker has at most 3000 bytes with gzip", () => {
  const { gzip, brotli } = compressedBytes(served);
  console.log(`tracker: ${served.length} bytes, ${gzip} gzip, ${brotli} brotli`);
  expect(gzip).toBeLessThanOrEqual(3000);
  expect(Math.abs(tracker.gzipBytes - gzip)).toBeLessThan(100); // zlib differs between machines
});

// Guarantee: nobody debugs a source that is not the one that runs.
test("the served file is what the source gives", async () => {
  const built = await renderTracker();
  expect(served.toString("utf8")).toBe(built.code);
  expect({ path: tracker.path, integrity: tracker.integrity }).toEqual({ path: built.path, integrity: built.integrity });
});

// Guarantee: no installed snippet ever goes silent because the file under its address changed.
test("every version that has an address has the content its snippets were made for", () => {
  const addressed = globSync("public/om.v*.js").map((file) => [Number(/\d+/.exec(file)?.[0]), integrityOf(readFileSync(file))]);
  expect(Object.fromEntries(addressed)).toEqual(releasedIntegrity);
});

// Guarantee: the line a customer copies loads this tracker, for this site, and nothing else.
test("the snippet names the versioned address, the site and the content's hash", () => {
  expect(installSnippet({ appUrl: "https://app.example.com", siteId })).toBe(
    `<script defer src="https://app.example.com${tracker.path}" data-site="${siteId}" integrity="${integrityOf(served)}" crossorigin="anonymous"></script>`,
  );
  expect(installSnippet({ appUrl: "https://app.example.com", siteId, consent: "required", dnt: "respect", views: "on" })).toContain(
    ` data-consent="required" data-dnt="respect" data-views="on" `,
  );
});

// Guarantee: a page that shows the snippet cannot be made to show somebody's markup.
test("the snippet takes nothing but a public id", () => {
  expect(() => installSnippet({ appUrl: "https://app.example.com", siteId: '"><script>' as SiteId })).toThrow(TypeError);
});
