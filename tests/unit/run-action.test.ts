import { afterEach, expect, test, vi } from "vitest";
import { runAction } from "#components/dashboard/oci-control/actions/run-action.ts";

afterEach(() => vi.unstubAllGlobals());

const undoUntil = "2026-11-16T09:10:00Z";
const done = (actionId: string, affected: number, cursor: string | null = null) =>
  Response.json({ ok: true, actionId, affected, skipped: [], skippedCount: 1, done: affected, total: 1000, cursor, undoUntil });
const run = (answers: Response[]) => {
  vi.stubGlobal("fetch", async () => answers.shift());
  const ids = Array.from({ length: 1500 }, (_, index) => String(index));
  return runAction({ siteId: "site", action: "RETRY_SELECTED", target: { ids }, choices: {}, onProgress: () => {} });
};
const refused = () => Response.json({ code: "RATE_LIMITED" }, { status: 429 });

// Guarantee: what a bulk action did before it failed is told, and can be taken back.
test("a failure midway comes with what was done before it", async () => {
  const { outcome, failure } = await run([done("a", 200, "a:200"), done("a", 999), done("b", 100, "b:100"), refused()]);
  expect(failure?.code).toBe("RATE_LIMITED");
  expect(outcome).toMatchObject({ actionIds: ["a", "b"], affected: 1099, skippedCount: 2, undoUntil });
});

test("a failure at once has done nothing; without a failure all is told", async () => {
  expect(await run([refused()])).toMatchObject({ failure: { code: "RATE_LIMITED" }, outcome: { actionIds: [], affected: 0 } });
  expect(await run([done("a", 999), done("b", 499)])).toMatchObject({ failure: null, outcome: { affected: 1498 } });
});
