/**
 * npm run fields:extract: reads the definitions that Google publishes and writes lib/providers/google-fields.json, the table that the
 * adapters' tests and the simulator check every request and answer with. The packages are too big to install with the app, so they are
 * downloaded for this run alone. google-ads-node is a third party's copy of Google's protos; there is no npm package of Google's own.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Descriptor, type FieldTable, type Wanted, walkDescriptors } from "./google-fields/walk-descriptors.ts";
import { checkoutDir } from "./local/process/state-dir.ts";

const ads = "google.ads.googleads.v25";
const dataManager = "google.ads.datamanager.v1";

const packages: { name: string; version: string; wanted: Wanted }[] = [
  {
    name: "@google-ads/datamanager",
    version: "0.3.0",
    wanted: {
      roots: ["IngestEventsRequest", "IngestEventsResponse", "RetrieveRequestStatusResponse", "ErrorReason"].map(
        (name) => `${dataManager}.${name}`,
      ),
      only: {},
    },
  },
  {
    name: "google-ads-node",
    version: "25.1.0",
    wanted: {
      roots: [
        ...["UploadClickConversions", "UploadConversionAdjustments", "SearchGoogleAds"].flatMap((method) => [
          `${ads}.services.${method}Request`,
          `${ads}.services.${method}Response`,
        ]),
        `${ads}.errors.GoogleAdsFailure`,
      ],
      only: {
        "googleads.services.GoogleAdsRow": [
          "conversionAction",
          "customer",
          "offlineConversionUploadClientSummary",
          "offlineConversionUploadConversionActionSummary",
        ],
        "googleads.resources.Customer": [
          ...["resourceName", "id", "descriptiveName", "currencyCode", "timeZone", "status", "manager", "testAccount"],
          "conversionTrackingSetting",
        ],
        "googleads.services.SearchGoogleAdsResponse": ["results", "nextPageToken", "totalResultsCount", "fieldMask"],
        "googleads.errors.ErrorDetails": ["unpublishedErrorCode", "quotaErrorDetails"],
        "googleads.errors.ErrorCode": [
          ...["authenticationError", "authorizationError", "quotaError", "requestError", "headerError", "internalError", "databaseError"],
          ...["conversionUploadError", "conversionAdjustmentUploadError", "notAllowlistedError", "customerError", "partialFailureError"],
          ...["dateError", "fieldError", "stringFormatError", "stringLengthError", "rangeError", "enumError", "nullError", "distinctError"],
          ...[
            "collectionSizeError",
            "notEmptyError",
            "currencyCodeError",
            "idError",
            "mutateError",
            "queryError",
            "resourceAccessDeniedError",
          ],
        ],
      },
    },
  },
];

const folder = mkdtempSync(join(tmpdir(), "google-fields-"));
const table: FieldTable & { packages: Record<string, string> } = { packages: {}, messages: {}, oneofs: {}, enums: {} };
try {
  for (const { name, version, wanted } of packages) {
    const found = walkDescriptors(download(`${name}@${version}`), wanted);
    table.packages[name] = version;
    for (const part of ["messages", "oneofs", "enums"] as const) Object.assign(table[part], found[part]);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const part of ["messages", "oneofs", "enums"] as const) {
  table[part] = Object.fromEntries(Object.entries(table[part]).toSorted(([a], [b]) => (a < b ? -1 : 1))) as never; // its own entries, sorted
}
const path = join(checkoutDir, "lib/providers/google-fields.json");
writeFileSync(path, JSON.stringify(table, null, 2));
execFileSync(join(checkoutDir, "node_modules/.bin/biome"), ["format", "--write", path], { cwd: checkoutDir, stdio: "ignore" });
console.log(`${Object.keys(table.messages).length} messages and ${Object.keys(table.enums).length} enums in ${path}`);

/** The definitions as protobuf.js holds them, which both packages carry. */
function download(spec: string): Descriptor {
  const [packed] = JSON.parse(execFileSync("npm", ["pack", spec, "--json", "--loglevel=error"], { cwd: folder, encoding: "utf8" }));
  const file = "package/build/protos/protos.json";
  execFileSync("tar", ["xzf", packed.filename, file], { cwd: folder });
  const definitions: Descriptor = JSON.parse(readFileSync(join(folder, file), "utf8"));
  rmSync(join(folder, file));
  return definitions;
}
