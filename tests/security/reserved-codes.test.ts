import { afterAll, beforeAll, expect, test } from "vitest";
import { readRow, sealLead } from "#tests/fixtures/queue.ts";
import { type OciApp, startOciApp } from "#tests/support/oci-app.ts";

let app: OciApp;
beforeAll(async () => {
  app = await startOciApp();
});
afterAll(() => app.stop());

const reserved = `SALE_CANCELLED SUPERSEDED NEVER_ARRIVED MAX_ATTEMPTS NO_CONSENT CLICK_EXPIRED ADJUSTMENT_EXPIRED MANUAL_FAIL CIRCUIT_OPEN
  CONCURRENCY_LIMIT REFUSED_WITH_OTHERS CREDENTIALS_CHANGED VAULT_KEY_MISSING VAULT_KEY_MISMATCH`.split(/\s+/);

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
test.each([...reserved, "sale_cancelled", " SUPERSEDED "])(
  "a script that reports the reserved code %j is stored as VALIDATION_FAILED",
  async (code) => {
    expect(await reported(code)).toEqual({ status: "FAILED", provider_error_code: "VALIDATION_FAILED", last_error: "from the script" });
  },
);

test("a code of the script's own stays", async () => {
  expect(await reported("APPLY_FAILED")).toMatchObject({ provider_error_code: "APPLY_FAILED" });
});
