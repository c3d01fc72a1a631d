import { describe, expect, test } from "vitest";
import { type Admission, shareAdmission } from "#lib/ingest/share-admission.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { siteUuidShape } from "#lib/site.ts";

const site = siteUuidShape.parse("01a1eae7-dc77-7a3c-af38-75d715b59ca0");
const otherSite = siteUuidShape.parse("01a1eae7-dce2-7d19-a8cf-ed66d6297683");

/** A database whose calls end when the test says so. An event that was seen before is a duplicate; `limit` is a soft plan's. */
function database(limit: number | null = null) {
  const calls: { events: string[]; end: (error?: unknown) => void }[] = [];
  const seen = new Set<string>();
  const admit = (_site: typeof site, events: string[]) =>
    new Promise<Admission>((resolve, reject) => {
      calls.push({
        events,
        end: (error) => {
          if (error) return reject(error);
          const results = events.map((event) => {
            const isNew = !seen.has(event);
            seen.add(event);
            return isNew ? ("accepted" as const) : ("duplicate" as const);
          });
          resolve({ results, used: seen.size, limit, overage: limit !== null && seen.size > limit });
        },
      });
    });
  return { calls, seen, send: shareAdmission(admit) };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));
const endAll = async (calls: { end: () => void }[], from = 0) => {
  for (let index = from; index < calls.length; index++) {
    calls[index]?.end();
    await settled();
  }
};

describe("requests of one site", () => {
  test("wait for nobody while fewer than two calls are under way, and then go together in the next one", async () => {
    const { calls, send } = database();
    const sent = ["a", "b", "c", "d", "e"].map((event) => send(site, [event]));
    expect(calls.map(({ events }) => events)).toEqual([["a"], ["b"]]);
    await endAll(calls);
    expect(calls.map(({ events }) => events)).toEqual([["a"], ["b"], ["c", "d", "e"]]);
    expect((await Promise.all(sent)).flatMap(({ results }) => results)).toEqual(Array(5).fill("accepted"));
  });

  // Mutation: give every request the answer of the whole call.
  test("each get what they would have got alone, in the order they came", async () => {
    const { calls, send } = database(3);
    const sent = [["a"], ["b"], ["c"], ["a", "d"], ["c"], ["e"]].map((events) => send(site, events));
    await endAll(calls);
    expect(calls).toHaveLength(3);
    expect((await Promise.all(sent)).slice(2)).toEqual([
      { results: ["accepted"], used: 3, limit: 3, overage: false },
      { results: ["duplicate", "accepted"], used: 4, limit: 3, overage: true },
      { results: ["duplicate"], used: 4, limit: 3, overage: true },
      { results: ["accepted"], used: 5, limit: 3, overage: true },
    ]);
  });

  test("never go with more than a hundred events, and a request stays whole", async () => {
    const { calls, send } = database();
    const many = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}${index}`);
    const sent = [["x"], ["y"], many(60, "a"), many(40, "b"), many(100, "c"), ["z"]].map((events) => send(site, events));
    await endAll(calls);
    expect(calls.map(({ events }) => events.length)).toEqual([1, 1, 100, 100, 1]);
    expect((await Promise.all(sent)).map(({ results }) => results.length)).toEqual([1, 1, 60, 40, 100, 1]);
  });

  // Guarantee: nobody's event costs another visitor's. Mutation: reject the whole group.
  test("with one whose event the database refuses are admitted without it", async () => {
    const { calls, send } = database();
    const sent = Promise.allSettled(["a", "b", "good", "bad", "fine"].map((event) => send(site, [event])));
    calls[0]?.end();
    calls[1]?.end();
    await settled();
    calls[2]?.end(new AppError("VALIDATION_FAILED"));
    await settled();
    for (const event of ["good", "bad", "fine"]) {
      const alone = calls.at(-1);
      expect(alone?.events).toEqual([event]);
      alone?.end(event === "bad" ? new AppError("VALIDATION_FAILED") : undefined);
      await settled();
    }
    const ends = await sent;
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled", "rejected", "fulfilled"]);
  });

  test("are all refused at once when the database is not there, those who wait as well", async () => {
    const { calls, send } = database();
    const sent = Promise.allSettled(["a", "b", "c", "d"].map((event) => send(site, [event])));
    calls[0]?.end(new AppError("DATABASE_UNAVAILABLE"));
    await settled();
    expect(calls).toHaveLength(2);
    calls[1]?.end();
    const ends = await sent;
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected", "rejected"]);
    const later = send(site, ["e"]);
    calls.at(-1)?.end();
    expect((await later).results).toEqual(["accepted"]);
  });
});

test("requests of two sites never share a call or wait for each other", async () => {
  const { calls, send } = database();
  const sent = [send(site, ["a"]), send(site, ["b"]), send(site, ["c"]), send(otherSite, ["d"])];
  expect(calls.map(({ events }) => events)).toEqual([["a"], ["b"], ["d"]]);
  await endAll(calls);
  await Promise.all(sent);
});
