import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { recordVisit, type VisitStep } from "#tests/fixtures/record-visit.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { choosePrimarySource } from "#tests/models/primary-source.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "primary");
});
afterAll(() => db.drop());

const calledAt = new Date("2026-11-16T09:00:00Z");
const kinds = ["gclid", "wbraid", "gbraid"] as const;

// Guarantee: the click that a call keeps is the one that the documented rule names, in whatever order its clicks arrived.
// Mutation that breaks it: let touch_session take the last click that came instead of the newest one.
test("a call has its conversation's primary source, whatever order the clicks arrived in", async () => {
  const click = fc.record({ kind: fc.constantFrom(...kinds), ageDays: fc.integer({ min: 0, max: 120 }) });
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(click, { selector: ({ ageDays }) => ageDays, maxLength: 4 }), async (clicks) => {
      const stamp = randomUUID();
      const known = clicks.map(({ kind, ageDays }, index) => ({
        gclid: null,
        wbraid: null,
        gbraid: null,
        [kind]: `click-${index}-${stamp}`,
        clickedAt: new Date(calledAt.getTime() - ageDays * 86_400_000 - 60_000),
        marketingConsent: true,
      }));
      const clicksOf = (at: (clickedAt: Date, index: number) => Date): VisitStep[] =>
        known.map(({ clickedAt, marketingConsent: _, ...ids }, index) => ({ ...ids, at: at(clickedAt, index) }));
      // Each click is seen when it happens, and again in the visit of the call.
      const steps = [
        ...clicksOf((clickedAt) => clickedAt),
        ...clicksOf((_, index) => new Date(calledAt.getTime() - (known.length - index) * 1000)),
      ];
      const call = { at: calledAt, category: "conversion", action: "phone_call", intentStamp: stamp };
      const [id] = await recordVisit(db.sql, team.siteUuid, stamp, [...steps, call]);
      const [kept] = await db.sql`select coalesce(gclid, wbraid, gbraid) as click from public.calls where id = ${String(id)}`;
      expect(kept?.click).toBe(choosePrimarySource(known, calledAt)?.id ?? null);
    }),
    { numRuns: 40, seed: 7 },
  );
});
