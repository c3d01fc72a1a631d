import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { QueueActionAnswer } from "#lib/oci/queue/actions.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { type QueueAction, queueActions } from "#lib/oci/queue-types.ts";
import { actAs } from "#tests/fixtures/act-as.ts";
import { minutesLater } from "#tests/fixtures/queue.ts";
import { switchDelivery } from "#tests/fixtures/site.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { controlAt } from "#tests/support/control.ts";
import { expected, type Facts, readFacts, type Why, whyNotOpen } from "#tests/support/judge-model.ts";
import { rowsOfEveryKind, type Scene } from "#tests/support/judged-rows.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
const sites: Record<string, { team: Team; scenes: Scene[] }> = {};
beforeAll(async () => {
  db = await createTestDatabase();
  sites.api = await rowsOfEveryKind(db.sql, "judged-api");
  sites.script = await rowsOfEveryKind(db.sql, "judged-script", sites.api.team.owner);
  await switchDelivery(db.sql, sites.script.team, "script");
}, 120_000);
afterAll(() => db.drop());

const siteOf = (name: string) => sites[name] ?? Promise.reject(new Error(name));
const hash = "0".repeat(64);
const after54Days = minutesLater(55 * 1440);

/** Asks as an operator and takes it back: the next question meets the same row. */
async function tried<T>(team: Team, at: Date, call: (tx: postgres.TransactionSql) => PromiseLike<T>): Promise<T> {
  const rollback = new Error("asked");
  let answer: T | undefined;
  const ask = actAs(
    db.sql,
    team.operator.id,
    async (tx) => {
      answer = await call(tx);
      throw rollback;
    },
    at,
  );
  await ask.catch((error: unknown) => {
    if (error !== rollback) throw error;
  });
  return answer as T; // it was given, or ask has thrown
}

async function oneByOne<T>(items: readonly T[], ask: (item: T) => Promise<Why>): Promise<Why[]> {
  const answers: Why[] = [];
  for (const item of items) answers.push(await ask(item));
  return answers;
}

const reasons = ["NOT_FOUND", "CHANGED_SINCE", "ILLEGAL_MOVE", "SALE_CANCELLED", "ALREADY_QUEUED", "BY_HAND"];

async function acted(tx: postgres.TransactionSql, team: Team, args: Record<string, unknown>): Promise<QueueActionAnswer> {
  const [row] = await tx`select public.act_on_queue(${team.siteId}, ${tx.json(args as never)}, ${hash}, ${randomUUID()}) as answer`;
  return JSON.parse(row?.answer.body);
}
const whyOf = (answer: QueueActionAnswer | undefined, id: string): Why => answer?.skipped.find((row) => row.id === id)?.reason ?? null;

async function previewed(tx: postgres.TransactionSql, team: Team, action: QueueAction, id: string): Promise<Why> {
  const [row] = await tx`select public.preview_queue_action(${team.siteId}, ${action}, ${tx.json({ q: id })}, 5) as answer`;
  const { count, ineligible } = row?.answer ?? {};
  return count === 1 ? null : (Object.keys(ineligible)[0] ?? "no row");
}

/** The contract endpoint's answer as a code. It knows no BY_HAND. */
async function moved(tx: postgres.TransactionSql, id: string, to: string): Promise<Why> {
  const move = { contract: "conversion", id, to };
  const [row] = await tx`select public.transition_contract(${tx.json(move)}, ${randomUUID()}, ${hash}) as answer`;
  return row?.answer.status === 200 ? null : JSON.parse(row?.answer.body).code;
}
const asContract = (why: Why) => (why === "BY_HAND" ? "ILLEGAL_MOVE" : why);

const story = (team: Team, id: string, at: Date) =>
  tried<QueueRowStory>(team, at, async (tx) => {
    const [row] = await tx`select public.queue_row_story(${team.siteId}, ${id}, 5) as answer`;
    return row?.answer;
  });

/** What the list says of each row, all of them on one page. */
async function listedActions(tx: postgres.TransactionSql, team: Team): Promise<Map<string, QueueAction[]>> {
  const [row] = await tx`select public.queue_rows(${team.siteId}, 5, '{}', null, 1000) as answer`;
  const rows: QueueRow[] = row?.answer.rows ?? [];
  return new Map(rows.map(({ id, allowedActions }) => [id, allowedActions]));
}

/** Sends again: a new row, the row that is open already, or a refusal. */
const sentAgain = (team: Team, { id, saleId, kind }: Scene, at: Date) =>
  tried(team, at, async (tx) => {
    const [row] = await tx.savepoint((sp) => sp`select public.send_again(${team.siteId}, ${id}) as answer`).catch(() => []);
    await tx`reset role`;
    const [open] = await tx`select created_at from public.offline_conversion_queue
      where sale_id = ${saleId} and kind = ${kind} and id = ${row?.answer.rowId ?? null}`;
    return open?.created_at.getTime() === at.getTime();
  });

const nameOf = ({ kind, end, fate }: Scene) => `${kind} ${end} ${fate}`;
const moments = [
  ["now", controlAt],
  ["54 days on", after54Days],
] as const;
const everywhere = ["api", "script"].flatMap((site) => moments.map(([when, at]) => [site, when, at] as const));
/** Time changes what is judged of adjustments only. */
const scenesAt = ({ scenes }: { scenes: Scene[] }, at: Date) => scenes.filter(({ kind }) => at === controlAt || kind !== "CONVERSION");

// Guarantee: what the list and the drawer offer and the preview counts is what an action and the contract endpoint then do, and for the same reason.
// Mutations that break it: let allowed_actions look at action_statuses alone, or judge a page as one action; let move_conversion skip the judge; drop BY_HAND, is_over,
// is_followed or ALREADY_QUEUED from judge_queue_rows.
describe.each(everywhere)("on a site that sends by %s, %s", (site, _when, at) => {
  test("an action means the same to itself, its preview, the contract endpoint, the list and the drawer", {
    timeout: 240_000,
  }, async () => {
    const { team } = await siteOf(site);
    const scenes = scenesAt(await siteOf(site), at);
    const ids = scenes.map(({ id }) => id);
    const facts = new Map((await readFacts(db.sql, team, at)).map((row) => [row.id, row]));
    const doing = new Map<QueueAction, QueueActionAnswer>();
    for (const action of queueActions) doing.set(action, await tried(team, at, (tx) => acted(tx, team, { action, ids })));
    const overApi = await tried(team, at, (tx) => acted(tx, team, { action: "RETRY_SELECTED", ids, overApi: true }));
    const listed = await tried(team, at, (tx) => listedActions(tx, team));
    const said: Record<string, unknown> = {};
    const wanted: Record<string, unknown> = {};
    for (const scene of scenes) {
      const name = nameOf(scene);
      const row = facts.get(scene.id) as Facts; // read above, of the whole site
      const why = (action: QueueAction) => expected(row, action);
      const retried = whyOf(doing.get("RETRY_SELECTED"), scene.id);
      wanted[name] = {
        actions: queueActions.map(why),
        previews: queueActions.map(why),
        // The endpoint has one way to QUEUED, from every state that a reset takes.
        moves: [asContract(why("RESET_TO_QUEUED")), asContract(why("MARK_FAILED"))],
        allowedActions: queueActions.filter((action) => why(action) === null),
        canTryApi: retried === "BY_HAND" && whyOf(overApi, scene.id) === null,
        canSendAgain: await sentAgain(team, scene, at),
      };
      const { row: shown, canTryApi, canSendAgain } = await story(team, scene.id, at);
      expect(shown.allowedActions, name).toEqual(listed.get(scene.id));
      said[name] = {
        actions: queueActions.map((action) => whyOf(doing.get(action), scene.id)),
        previews: await oneByOne(queueActions, (action) => tried(team, at, (tx) => previewed(tx, team, action, scene.id))),
        moves: await oneByOne(["QUEUED", "FAILED"], (to) => tried(team, at, (tx) => moved(tx, scene.id, to))),
        ...{ allowedActions: shown.allowedActions, canTryApi, canSendAgain },
      };
    }
    expect(said).toEqual(wanted);
    const offers = (key: string) => Object.values(said).filter((each) => (each as Record<string, unknown>)[key]).length;
    expect(offers("canTryApi") > 0).toBe(site === "api" && at === controlAt);
    expect(offers("canSendAgain") > 0).toBe(at === controlAt);
  });

  // Mutation that breaks it: let UNDO pass without the rules of the sale.
  test("an undo is judged by the same rules, but gives a person's work back", { timeout: 120_000 }, async () => {
    const { team, scenes } = await siteOf(site);
    for (const action of queueActions) {
      const before = new Map((await readFacts(db.sql, team, at)).map((row) => [row.id, row.status]));
      await tried(team, at, async (tx) => {
        const done = await acted(tx, team, { action, ids: scenes.map(({ id }) => id) });
        await tx`reset role`;
        const facts = new Map((await readFacts(tx, team, at)).map((row) => [row.id, row]));
        await tx`set local role authenticated`;
        const args = tx.json({ actionId: done.actionId });
        const [row] = await tx`select public.undo_queue_action(${team.siteId}, ${args}, ${hash}, ${randomUUID()}) as answer`;
        const undone: QueueActionAnswer = JSON.parse(row?.answer.body);
        const changed = scenes.filter(({ id }) => whyOf(done, id) === null);
        expect(undone).toMatchObject({ done: changed.length, total: changed.length });
        const wanted = changed.map((scene) => {
          const row = facts.get(scene.id) as Facts; // read above, of the whole site
          if (before.get(scene.id) !== "FAILED") return [nameOf(scene), whyNotOpen(row)];
          return [nameOf(scene), row.kind === "RETRACT" && row.is_followed ? "ILLEGAL_MOVE" : null];
        });
        expect(changed.map((scene) => [nameOf(scene), whyOf(undone, scene.id)])).toEqual(wanted);
      });
    }
  });
});

// Mutations that break it: judge a page of the list as one action; drop the last rule of judge_queue_rows.
test("of two closed rows of a sale either may be opened, together only the newest", async () => {
  const { team, scenes } = await siteOf("api");
  const older = scenes.find(({ kind, end, fate }) => kind === "RESTATE" && end === "FAILED" && fate === "LIVES");
  await tried(team, controlAt, async (tx) => {
    const known = await listedActions(tx, team);
    const correction = tx.json({ id: String(older?.saleId), amountCents: 75_00 });
    await tx`select public.correct_sale(${team.siteId}, ${correction}, ${hash}, ${randomUUID()})`;
    const newer = [...(await listedActions(tx, team)).keys()].find((id) => !known.has(id));
    const ids = [String(older?.id), String(newer)];
    await acted(tx, team, { action: "MARK_FAILED", ids: [newer], reason: "done elsewhere" });
    const listed = await listedActions(tx, team);
    expect(ids.map((id) => listed.get(id))).toEqual([
      ["RETRY_SELECTED", "RESET_TO_QUEUED"],
      ["RETRY_SELECTED", "RESET_TO_QUEUED"],
    ]);
    const done = await acted(tx, team, { action: "RETRY_SELECTED", ids });
    expect(ids.map((id) => whyOf(done, id))).toEqual(["ALREADY_QUEUED", null]);
  });
});

// Guarantee: the comparison above says something: every state, kind and reason is among what it compares. Of a cancelled or blocked sale
// nothing waits that is not a retraction, and no retraction of a living one is open: the ledger closes those at once.
test("the scenes reach every status of every kind, of living, cancelled and blocked sales, and every reason of a single action", async () => {
  const rows = await db.sql<{ seen: string }[]>`
    select distinct concat_ws(' ', q.kind, q.status, case when s.delivery_block is null then s.status else 'BLOCKED' end) as seen
    from public.offline_conversion_queue q join public.sales s on s.id = q.sale_id
    where q.id = any (${Object.values(sites).flatMap(({ scenes }) => scenes.map(({ id }) => id))}) order by 1`;
  expect(rows.map(({ seen }) => seen)).toMatchInlineSnapshot(`
    [
      "CONVERSION COMPLETED BLOCKED",
      "CONVERSION COMPLETED CANCELED",
      "CONVERSION COMPLETED CONFIRMED",
      "CONVERSION FAILED BLOCKED",
      "CONVERSION FAILED CANCELED",
      "CONVERSION FAILED CONFIRMED",
      "CONVERSION PROCESSING BLOCKED",
      "CONVERSION PROCESSING CANCELED",
      "CONVERSION PROCESSING CONFIRMED",
      "CONVERSION QUEUED CONFIRMED",
      "CONVERSION RETRY CONFIRMED",
      "RESTATE COMPLETED CANCELED",
      "RESTATE COMPLETED CONFIRMED",
      "RESTATE FAILED CANCELED",
      "RESTATE FAILED CONFIRMED",
      "RESTATE PROCESSING CANCELED",
      "RESTATE PROCESSING CONFIRMED",
      "RESTATE QUEUED CONFIRMED",
      "RESTATE RETRY CONFIRMED",
      "RETRACT COMPLETED CANCELED",
      "RETRACT FAILED CANCELED",
      "RETRACT FAILED CONFIRMED",
      "RETRACT PROCESSING CANCELED",
      "RETRACT QUEUED CANCELED",
      "RETRACT RETRY CANCELED",
    ]
  `);
  const seen = new Set<Why>();
  for (const { team } of Object.values(sites))
    for (const row of await readFacts(db.sql, team, controlAt)) for (const action of queueActions) seen.add(expected(row, action));
  expect([...seen].toSorted()).toEqual([null, ...reasons.slice(2)].toSorted());
});
