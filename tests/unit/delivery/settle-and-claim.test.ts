import { expect, test } from "vitest";
import type { BatchFacts, Claim, DeliveryGroup, Pipeline } from "#lib/delivery/pipeline.ts";
import { startBudget } from "#lib/delivery/run-budget.ts";
import { settleAndClaim } from "#lib/delivery/settle-batch.ts";
import type { UploadResult } from "#lib/providers/port.ts";

const group = { siteUuid: "site", providerKey: "google_ads" } as unknown as DeliveryGroup; // its other facts choose the share
const facts: BatchFacts = { provider: "google_ads", outcome: "success", credentialsVersion: 1, durationMs: 1 };
const done = (id: string): UploadResult => ({ id, status: "COMPLETED", transport: "ads_api", requestId: "r", verdict: "CONFIRMED" });
const whole = [done("a"), done("b")];
const jobs = ["a", "b"].map((id) => ({ id })) as Claim["jobs"]; // nothing else of them is asked here

/** A pipeline whose one call answers as told, and which notes what was asked of it. */
function pipelineThat(answer: () => Promise<{ completed: number; left: number; claim: null }>) {
  const asked: string[] = [];
  const pipeline = {
    name: "seals",
    settleAndClaim: (_group, { answer: { rows } }) => {
      asked.push(`both ${rows ? rows.ids : "as claimed"}`);
      return answer();
    },
    settle: async (_group, _token, results) => {
      asked.push(`settle ${results.map(({ id }) => id)}`);
      return { completed: 1, failed: 0, retried: 0 };
    },
  } as Partial<Pipeline> as Pipeline; // it neither lists, claims nor defers
  const run = (results: UploadResult[], change: Partial<BatchFacts> = {}) =>
    settleAndClaim(
      pipeline,
      group,
      { token: "token", jobs },
      {
        results,
        facts: { ...facts, ...change },
        budget: startBudget(60_000),
        limit: 10,
        after: null,
      },
    );
  return { asked, run };
}

test("a batch that arrived whole is one call", async () => {
  const { asked, run } = pipelineThat(async () => ({ completed: 2, left: 0, claim: null }));
  expect(await run(whole)).toEqual({ settled: { completed: 2, failed: 0, retried: 0 }, claim: null });
  expect(asked).toEqual(["both as claimed"]);
});

// Guarantee: rows are named unless they are all of the claim, each in its place: a verdict finds its row by the place.
// Mutation that breaks it: leave out the comparison of places.
test.each<[string, UploadResult[]]>([
  ["another order", [done("b"), done("a")]],
  [
    "other places",
    [
      { ...done("a"), recordIndex: 1 },
      { ...done("b"), recordIndex: 0 },
    ],
  ],
  ["not all", [done("a")]],
])("rows are named: %s", async (_name, results) => {
  const { asked, run } = pipelineThat(async () => ({ completed: results.length, left: 0, claim: null }));
  await run(results);
  expect(asked).toEqual([`both ${results.map(({ id }) => id)}`]);
});

test("what the call leaves is settled, and counted with what it settled", async () => {
  const { asked, run } = pipelineThat(async () => ({ completed: 1, left: 1, claim: null }));
  expect(await run(whole)).toEqual({ settled: { completed: 2, failed: 0, retried: 0 }, isLost: false });
  expect(asked).toEqual(["both as claimed", "settle a,b"]);
});

// Guarantee: a lost answer may have claimed rows that nobody sends; claiming more would strand batch after batch. Mutation: leave isLost out.
test("a call without an answer is settled again and ends the group's turn", async () => {
  const { asked, run } = pipelineThat(async () => {
    throw new Error("no answer in 15000 ms");
  });
  expect(await run(whole)).toMatchObject({ settled: { completed: 1 }, isLost: true });
  expect(asked).toEqual(["both as claimed", "settle a,b"]);
});

test.each<[string, UploadResult[], Partial<BatchFacts>]>([
  ["a row failed", [done("a"), { id: "b", status: "FAILED", transport: "ads_api" }], {}],
  ["two requests", [done("a"), { ...done("b"), requestId: "r-2" }], {}],
  ["another way", [done("a"), { ...done("b"), transport: "data_manager" }], {}],
  ["another verdict", [done("a"), { ...done("b"), verdict: "DUPLICATE" }], {}],
  ["a quota", whole, { quotaUntil: "2026-11-17T12:00:00Z" }],
  ["a block", whole, { block: { code: "AUTH", message: "" } }],
])("is settled by itself: %s", async (_name, results, change) => {
  const { asked, run } = pipelineThat(async () => ({ completed: 2, left: 0, claim: null }));
  await run(results, change);
  expect(asked).toEqual(["settle a,b"]);
});
