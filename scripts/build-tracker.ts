/** npm run tracker:build: writes the tracker and what snippets say about it. With --check it only compares. */
import { readFileSync, writeFileSync } from "node:fs";
import { tracker } from "#lib/ingest/tracker.gen.ts";
import { releasedIntegrity, trackerVersion } from "#lib/tracker/releases.ts";
import { compressedBytes, integrityOf, renderTracker } from "./render-tracker.ts";

const { path, code, integrity } = await renderTracker();
const file = `public${path}`;
// Their source has moved on; the files are what installed snippets load.
const changed = Object.keys(releasedIntegrity)
  .map((version) => Number(version))
  .filter((version) => version < trackerVersion && integrityOf(readFileSync(`public/om.v${version}.js`)) !== releasedIntegrity[version]);

if (changed.length > 0) {
  fail(`public/om.v${changed[0]}.js is not the file that its snippets were made for: restore it`);
} else if (releasedIntegrity[trackerVersion] === undefined) {
  fail(
    `version ${trackerVersion} has no hash yet: add ${trackerVersion}: "${integrity}" to releasedIntegrity in lib/tracker/releases.ts and run again`,
  );
} else if (releasedIntegrity[trackerVersion] !== integrity) {
  fail(
    `${file} would change under its address, and every installed snippet would refuse it. Raise trackerVersion in ` +
      `lib/tracker/releases.ts; or, where version ${trackerVersion} was never installed, record there ${integrity}`,
  );
} else if (process.argv.includes("--check")) {
  // Not the number of bytes: it depends on the machine's zlib.
  const current = readFileSync(file, "utf8") === code && tracker.path === path && tracker.integrity === integrity;
  if (!current) fail(`${file} and lib/ingest/tracker.gen.ts are not what the source gives: npm run tracker:build`);
} else {
  const { gzip, brotli } = compressedBytes(code);
  writeFileSync(file, code);
  writeFileSync(
    "lib/ingest/tracker.gen.ts",
    `/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "${path}",
  integrity: "${integrity}",
  gzipBytes: ${gzip},
};
`,
  );
  console.log(`${file}: ${code.length} bytes, ${gzip} gzip, ${brotli} brotli`);
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}
