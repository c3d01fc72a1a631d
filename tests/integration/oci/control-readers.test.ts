import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { queueCharts } from "#lib/oci/queue/charts.ts";
import { queueRowStory } from "#lib/oci/queue/row-story.ts";
import { queueRows } from "#lib/oci/queue/rows.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { minutesLater, type Sealed, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { rowsIn, startingStates } from "#tests/fixtures/rows-in.ts";
import { service } from "#tests/fixtures/service.ts";
import { handOver, type Team } from "#tests/fixtures/team.ts";
import { act, controlAt, listRows } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let other: Team;
const made: Record<string, Sealed[]> = {};
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createQueueTeam(db.sql, "readers");
  other = await handOver(db.sql, await createQueueTeam(db.sql, "not-yours", team.owner), "owner@not-yours.test");
  for (const [index, state] of startingStates.entries()) made[state] = await rowsIn(db.sql, team, state, 2, 10_000 * (index + 1));
  made.chat = [
    await sealLead(db.sql, team, { amountCents: 700, step: { action: "whatsapp", phone: "+90 537 111 52 18", gclid: "gclid-of-chat" } }),
  ];
  await rowsIn(db.sql, other, "FAILED", 1, 10_000);
});
afterAll(() => db.drop());

const ids = (state: string) => (made[state] ?? []).map(({ id }) => id).sort();
const found = async (filter: Record<string, unknown>, at?: Date) =>
  (await listRows(db.sql, team, filter, at ? { at } : {})).rows.map(({ id }) => id).sort();
const everything = () => Object.values(made).flatMap((rows) => rows.map(({ id }) => id));

describe("a filter", () => {
  test.each([
    ["nothing", {}, () => everything()],
    ...startingStates.map(
      (state) => [`status ${state}`, { status: state }, () => [...ids(state), ...(state === "QUEUED" ? ids("chat") : [])]] as const,
    ),
    ["an error's category", { errorCategory: "VALIDATION" }, () => ids("FAILED")],
    ["an error's code, also of a row that waits", { errorCode: "RETRY_CODE" }, () => ids("RETRY")],
    ["a code and a status", { errorCode: "RETRY_CODE", status: "FAILED" }, () => []],
    ["what waits", { waiting: true }, () => [...ids("QUEUED"), ...ids("RETRY"), ...ids("chat")]],
    ["what was closed on purpose", { notSent: true }, () => []],
    ["all but that", { notSent: false }, () => everything()],
    ["the provider", { provider: "google_ads" }, () => everything()],
    ["a provider that nobody has", { provider: "meta" }, () => []],
    ["the channel", { channel: "whatsapp" }, () => ids("chat")],
    ["the kind", { kind: "RESTATE" }, () => []],
    ["a range of values", { minValue: 20_000, maxValue: 30_000 }, () => [...ids("RETRY"), ...ids("PROCESSING")]],
    ["the time of creation", { createdFrom: minutesLater(1).toISOString() }, () => []],
    [
      "the time of change",
      { updatedFrom: minutesLater(39).toISOString(), updatedTo: minutesLater(40).toISOString() },
      () => ids("PROCESSING"),
    ],
    ["attempts", { minAttempts: 1, status: "FAILED" }, () => ids("FAILED")],
    ["an order id", () => made.chat?.[0]?.saleId, () => ids("chat")],
  ] as const)("by %s finds what it says, and only of this site", async (_name, filter, expected) => {
    const given = typeof filter === "function" ? { q: `om_${String(filter()).replaceAll("-", "")}` } : filter;
    expect(await found(given)).toEqual(expected().sort());
  });

  test.each([
    ["a row's id", () => String(made.chat?.[0]?.id)],
    ["a click id", () => "gclid-of-chat"],
    ["a phone's ending", () => "5218"],
    ["a phone's ending as people write it", () => "111 52-18"],
  ])("a search by %s finds the row", async (_name, q) => {
    expect(await found({ q: q() })).toEqual(ids("chat"));
  });

  test("a search for three digits, another's row or nothing known finds nothing", async () => {
    const [theirs] = await db.sql`select id, order_id from public.offline_conversion_queue where site_id = ${other.siteUuid}`;
    for (const q of ["218", theirs?.id, theirs?.order_id, "gclid-of-nobody", "%", "5218%"]) expect(await found({ q })).toEqual([]);
  });

  test("stuck rows and rows that wait for their time", async () => {
    expect(await found({ stuck: true })).toEqual([]);
    expect(await found({ stuck: true }, minutesLater(60))).toEqual(ids("PROCESSING"));
    expect(await found({ waitingForDelay: true })).toEqual([]);
    const late = await sealLead(db.sql, other, {});
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(1));
    expect((await listRows(db.sql, other, { waitingForDelay: true }, { at: minutesLater(-1) })).rows.map(({ id }) => id)).toEqual([
      late.id,
    ]);
  });
});

describe("a page", () => {
  test("holds rows of the agreed shape, newest first, and nothing that names the site's own id", async () => {
    const page = await listRows(db.sql, team, { sort: "updated" }, { limit: 200 });
    expect(queueRows.parse(page)).toEqual(page);
    expect(JSON.stringify(page)).not.toContain(team.siteUuid);
    const times = page.rows.map(({ updatedAt }) => Date.parse(updatedAt));
    expect(times).toEqual([...times].sort((one, another) => another - one));
    expect(page.rows.find(({ id }) => id === made.chat?.[0]?.id)).toMatchObject({
      channel: "whatsapp",
      clickKind: "gclid",
      phoneEnding: "5218",
      attemptsLeft: 5,
      valueCents: 700,
      stuck: false,
      verdict: null,
    });
  });

  // Guarantee: whoever pages through a queue that lives sees each row once. With an offset, rows that arrive push others onto a second page.
  test("leads to the next without a row skipped or seen twice, while rows move and arrive", async () => {
    const busy = await createQueueTeam(db.sql, "busy", team.owner);
    const before = (await rowsIn(db.sql, busy, "QUEUED", 12)).map(({ id }) => id);
    const seen: string[] = [];
    let cursor: string | null = null;
    for (let page = 0; page === 0 || cursor; page++) {
      const answer: Awaited<ReturnType<typeof listRows>> = await listRows(db.sql, busy, {}, { cursor, limit: 5 });
      seen.push(...answer.rows.map(({ id }) => id));
      cursor = answer.nextCursor;
      await sealLead(db.sql, busy, { at: minutesLater(5) });
      await act(db.sql, { action: "MARK_FAILED", ids: before.slice(page, page + 6) }, { team: busy, at: minutesLater(10 + page) });
    }
    expect(seen.sort()).toEqual(before.sort());
  });

  // Mutation: a cursor without the id, or compared as text.
  test("is sorted by value on request, page by page, equal values included", async () => {
    const sums = await createQueueTeam(db.sql, "sums", team.owner);
    for (const [state, cents] of [
      ["QUEUED", 900],
      ["FAILED", 10_000],
      ["COMPLETED", 900],
      ["QUEUED", 10_000],
      ["COMPLETED", 70_000],
      ["QUEUED", 900],
    ] as const)
      await rowsIn(db.sql, sums, state, 1, cents);
    const seen: string[] = [];
    const values: number[] = [];
    let cursor: string | null = null;
    do {
      const answer: Awaited<ReturnType<typeof listRows>> = await listRows(db.sql, sums, { sort: "value" }, { cursor, limit: 2 });
      seen.push(...answer.rows.map(({ id }) => id));
      values.push(...answer.rows.map(({ valueCents }) => valueCents));
      cursor = answer.nextCursor;
    } while (cursor);
    expect(values).toEqual([70_000, 10_000, 10_000, 900, 900, 900]);
    expect(new Set(seen).size).toBe(6);
  });

  test("refuses a cursor that is not one, or of another order", async () => {
    const { nextCursor } = await listRows(db.sql, team, {}, { limit: 1 });
    for (const cursor of ["nonsense", "AAAA", `${nextCursor}x`.slice(3)])
      await expect(listRows(db.sql, team, {}, { cursor })).rejects.toMatchObject({ code: "PT400" });
    await expect(listRows(db.sql, team, { sort: "updated" }, { cursor: nextCursor })).rejects.toMatchObject({ code: "PT400" });
  });
});

describe("a row's story", () => {
  const story = (id: unknown, at = controlAt, person = team.operator) =>
    callAs<Record<string, unknown>>(db.sql, person, (tx) => tx`select public.queue_row_story(${team.siteId}, ${String(id)}, 5)`, at);

  test("tells the seal, the ledger, each move with who and why, the attempts and what was sent", async () => {
    const [row] = await rowsIn(db.sql, team, "RETRY", 1, 12_300);
    await change(db.sql, { team }, "correct_sale", { id: row?.saleId, amountCents: 15_000 }, { at: minutesLater(16) });
    await act(db.sql, { action: "MARK_FAILED", ids: [row?.id], reason: "Double booking" }, { team });
    const told = queueRowStory.parse(await story(row?.id));
    expect(told.seal).toMatchObject({ by: { kind: "user", name: team.operator.email }, amountCents: 12_300, currency: "TRY" });
    expect(told.ledger.map(({ kind, amountCents }) => [kind, amountCents])).toEqual([
      ["SEAL", 12_300],
      ["CORRECT", 15_000],
    ]);
    expect(told.transitions.map(({ from, to, reason }) => [from, to, reason])).toEqual([
      [null, "QUEUED", "SEAL"],
      ["QUEUED", "PROCESSING", "SCRIPT_EXPORT"],
      ["PROCESSING", "FAILED", "SCRIPT_ACK_FAILED"],
      ["FAILED", "RETRY", "RETRY_DUE"],
      ["RETRY", "RETRY", "CORRECT"],
      ["RETRY", "FAILED", "MARK_FAILED"],
    ]);
    expect(told.transitions.at(-1)).toMatchObject({
      by: { kind: "user", name: team.operator.email },
      note: "Double booking",
      errorCode: "MANUAL_FAIL",
    });
    expect(told.attempts).toMatchObject([{ number: 1, durationMs: 60_000, outcome: "FAILED", errorCode: "RETRY_CODE" }]);
    expect(told.payload).toMatchObject({ sent: false, valueCents: 15_000, clickKind: "gclid" });
    expect(told.payload.clickId).toMatch(/^gclid-….{4}$/);
    expect(told.proofs.map(({ contract, to }) => [contract, to])).toContainEqual(["conversion", "FAILED"]);
    expect(told.row.allowedActions).toEqual(["RETRY_SELECTED", "RESET_TO_QUEUED"]);
  });

  test("of a delivered sale that was corrected shows the dispatch and its sibling", async () => {
    const [row] = await rowsIn(db.sql, team, "COMPLETED", 1, 12_300);
    await change(db.sql, { team }, "correct_sale", { id: row?.saleId, amountCents: 9_900 }, { at: minutesLater(20) });
    const told = queueRowStory.parse(await story(row?.id));
    expect(told.dispatches).toMatchObject([{ transport: "script", valueCents: 12_300, verdict: null }]);
    expect(told.payload).toMatchObject({ sent: true, valueCents: 12_300 });
    expect(told.siblings).toMatchObject([{ kind: "RESTATE", status: "QUEUED", valueCents: 9_900 }]);
    expect(told.row.allowedActions).toEqual([]);
  });

  // Guarantee: the screen names the click id that Google is sent. Of the two that exclude each other, hand_out sends the gbraid.
  test("of a click with two kinds of id shows the one that is sent", async () => {
    const [mine, step] = [
      await createQueueTeam(db.sql, "two-ids", team.owner),
      { gclid: null, wbraid: "w".repeat(20), gbraid: "g".repeat(20) },
    ];
    const { id } = await sealLead(db.sql, mine, { step });
    const answer = await callAs(db.sql, mine.viewer, (tx) => tx`select public.queue_row_story(${mine.siteId}, ${id}, 5)`, controlAt);
    expect(queueRowStory.parse(answer)).toMatchObject({
      row: { clickKind: "gbraid" },
      payload: { clickKind: "gbraid", clickId: "gggggg…gggg" },
    });
  });

  test("of another's row is not found", async () => {
    const [theirs] = await db.sql`select id from public.offline_conversion_queue where site_id = ${other.siteUuid} limit 1`;
    await expect(story(theirs?.id)).rejects.toMatchObject({ code: "PT404" });
  });
});

test("charts count what happened per hour, how long deliveries took, and why rows failed", async () => {
  const quiet = await createQueueTeam(db.sql, "charts", team.owner);
  await rowsIn(db.sql, quiet, "COMPLETED", 3);
  await rowsIn(db.sql, quiet, "FAILED", 2, 5_000);
  await rowsIn(db.sql, quiet, "RETRY", 1);
  const read = (range: string) =>
    callAs(db.sql, quiet.viewer, (tx) => tx`select public.queue_charts(${quiet.siteId}, ${range})`, controlAt).then((told) =>
      queueCharts.parse(told),
    );
  const day = await read("24h");
  expect(day.activity).toHaveLength(25);
  expect(day.activity.at(-1)).toMatchObject({ delivered: 3, failed: 3, retried: 1 });
  expect(day.latency).toEqual({ sample: 3, p50Seconds: 120, p90Seconds: 120, p95Seconds: 120, p99Seconds: 120 });
  expect(day.causes).toMatchObject([
    { code: "FAILED_CODE", count: 2 },
    { code: "RETRY_CODE", count: 1 },
  ]);
  expect(day.failedNow).toEqual([{ code: "FAILED_CODE", category: "VALIDATION", count: 2, valueCents: { TRY: 10_000 } }]);
  expect(await read("90d")).toMatchObject({ bucket: "day" });
  await expect(read("10 years")).rejects.toMatchObject({ code: "PT400" });
});
