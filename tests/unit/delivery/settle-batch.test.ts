import { expect, test } from "vitest";
import type { DeliveryGroup, Pipeline } from "#lib/delivery/pipeline.ts";
import { startBudget } from "#lib/delivery/run-budget.ts";
import type { SentBatch } from "#lib/delivery/send-batch.ts";
import { settleBatch } from "#lib/delivery/settle-batch.ts";
import { AppError } from "#lib/platform/app-error.ts";
import type { SiteUuid } from "#lib/site.ts";

const group: DeliveryGroup = {
  siteUuid: "0190b5a8-0000-7000-8000-000000000001" as SiteUuid,
  providerKey: "google_ads",
  nextProbeAt: null,
  queuedCount: 2,
  state: "CLOSED",
  probeLimit: 5,
  isProbeDue: false,
  servedAt: null,
};
const sent: SentBatch = {
  results: [
    { id: "1", status: "COMPLETED", transport: "data_manager", requestId: "request-1" },
    { id: "2", status: "FAILED", transport: "data_manager", code: "INVALID_GCLID", message: "refused by the database", field: "gclid" },
  ],
  facts: {
    provider: "google_ads",
    outcome: "success",
    credentialsVersion: 1,
    durationMs: 1,
    firstPollSeconds: 1800,
    block: { code: "PERMISSION_DENIED", message: "refused by the database" },
    blockActions: [{ conversionName: "seal", code: "NO_CONVERSION_ACTION_FOUND", message: "refused by the database" }],
  },
};

// Guarantee: what Google took is recorded even when the database does not take a sentence that came with it.
test("a database that refuses the data is told the outcomes without the messages", async () => {
  const stored: unknown[] = [];
  const pipeline: Pipeline = {
    name: "seals",
    listGroups: async () => [],
    claim: () => Promise.reject(new Error("Nobody claims here.")),
    defer: async () => 0,
    async settle(_group, _token, results, facts) {
      if (JSON.stringify([results, facts]).includes("refused by the database")) throw new AppError("VALIDATION_FAILED");
      stored.push({ results, facts });
      return { completed: 1, failed: 1, retried: 0 };
    },
  };
  expect(await settleBatch(pipeline, group, "token", { ...sent, budget: startBudget(10_000) })).toMatchObject({ completed: 1 });
  expect(stored).toEqual([
    {
      results: [
        { id: "1", status: "COMPLETED", transport: "data_manager", requestId: "request-1" },
        { id: "2", status: "FAILED", transport: "data_manager", code: "INVALID_GCLID" },
      ],
      facts: {
        ...sent.facts,
        block: { code: "PERMISSION_DENIED", message: "" },
        blockActions: [{ conversionName: "seal", code: "NO_CONVERSION_ACTION_FOUND", message: "" }],
      },
    },
  ]);
});
