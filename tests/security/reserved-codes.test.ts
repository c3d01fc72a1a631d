import { afterAll, beforeAll, expect, test } from "vitest";
import { causeOf } from "#lib/oci/queue/causes.ts";
import { readRow, sealLead } from "#tests/fixtures/queue.ts";
import { type OciApp, startOciApp } from "#tests/support/oci-app.ts";
import { ownCodes, scriptCodes } from "#tests/support/own-codes.ts";

let app: OciApp;
beforeAll(async () => {
  app = await startOciApp();
});
afterAll(() => app.stop());

const reserved = async () => {
  const [row] = await app.db.sql<{ codes: string[] }[]>`select private.reserved_codes() as codes`;
  return row?.codes ?? [];
};

async function reported(errorCode: string): Promise<unknown> {
  const site = await app.newSite();
  const token = await app.session(site);
  const { id } = await sealLead(app.db.sql, site, { at: new Date(Date.now() - 2 * 3_600_000) });
  expect((await app.exportRows(site, token)).status).toBe(200);
  const response = await app.ackFailed(site, token, { queueIds: [`seal_${id}`], errorCode, errorMessage: "from the script" });
  expect([response.status, await response.json()]).toEqual([200, { ok: true, updated: 1 }]);
  const { status, provider_error_code, last_error } = await readRow(app.db.sql, id);
  return { status, provider_error_code, last_error };
}

// Guarantee: whoever holds a script's key cannot make a conversion look cancelled, superseded or refused by its visitor, and so hide it from
// the people who would send it again. Mutation: store p_code as it came.
test("a script that reports a reserved code, any of them, is stored as VALIDATION_FAILED", async () => {
  for (const code of [...(await reserved()), "sale_cancelled", " SUPERSEDED "])
    expect(await reported(code), code).toEqual({
      status: "FAILED",
      provider_error_code: "VALIDATION_FAILED",
      last_error: "from the script",
    });
});

// Guarantee: a code that is added later is reserved too. Mutation: take one out of reserved_codes.
test("every code that the system writes by itself is reserved, unless Google or the script reports the same", async () => {
  const own = await ownCodes(app.db.sql);
  const shared = new Set([
    ...scriptCodes(),
    "UNKNOWN",
    "RATE_LIMIT",
    "VALIDATION_FAILED",
    "NO_RESULT",
    "INVALID_CONVERSION_TIME",
    "CONVERSION_NOT_FOUND",
  ]);
  const known = await reserved();
  expect(own.filter((code) => !known.includes(code) && !shared.has(code))).toEqual([]);
  expect(known.filter((code) => causeOf(code).name === "unknown")).toEqual([]);
});

test("a code of the script's own stays", async () => {
  expect(await reported("APPLY_FAILED")).toMatchObject({ provider_error_code: "APPLY_FAILED" });
});
