import { afterAll, beforeAll, expect, test } from "vitest";
import { claimForScript, claimForWorker, moveConversion, readRow, sealedAt } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import { api, db, functions, now, openStates, type Start, type Subject, script, sealed, starts } from "#tests/support/state-moves.ts";

beforeAll(openStates);
afterAll(() => db.drop());

const describeRow = (after: Record<string, unknown>) =>
  [after.status, after.provider_error_code].filter(Boolean).join(" ") +
  (after.next_retry_at && after.provider_error_code !== "CIRCUIT_OPEN" ? ", again later" : "");

/** What a row says. Whether it is plain only decides how it is answered: a change of its sale ends that without moving the row. */
const factsOf = ({ is_plain: _isPlain, ...row }: Record<string, unknown>) => JSON.stringify(row);

/** A row is untouched when nothing of it changed; the ledger of transitions must agree. */
async function outcome(start: Start, name: string): Promise<string> {
  const each = functions[name];
  if (!each) throw new Error(name);
  const made = await starts[start](each.on());
  const before = await readRow(db.sql, made.id);
  const movesBefore = await movesOf(made.id);
  await each.run(made);
  const after = await readRow(db.sql, made.id);
  const movesAfter = await movesOf(made.id);
  const isSame = factsOf(before) === factsOf(after);
  if (isSame) expect(movesAfter).toBe(movesBefore);
  else expect(movesAfter).toBeGreaterThan(movesBefore);
  await park(made);
  return isSame ? "—" : describeRow(after);
}

async function movesOf(id: string): Promise<number> {
  const [row] = await db.sql`select count(*)::int as moves from public.queue_transitions where queue_id = ${id}`;
  return Number(row?.moves);
}

/** Out of the way of the next one: these functions take whatever they find. */
async function park({ id, team }: Subject): Promise<void> {
  const { status } = await readRow(db.sql, id);
  if (status === "QUEUED" || status === "RETRY" || status === "PROCESSING") await moveConversion(db.sql, team, { id, to: "FAILED" }, now);
}

// Guarantee: a row goes only where this table says, whoever asks and from wherever; every move is in the ledger of transitions.
test("each function moves a row from each state as docs/state-machine.md says, and leaves it alone where it says so", async () => {
  const observed: Record<string, Record<string, string>> = {};
  for (const name of Object.keys(functions)) {
    observed[name] = {};
    for (const start of Object.keys(starts) as Start[]) Object.assign(observed[name], { [start]: await outcome(start, name) });
  }
  expect(observed).toEqual(Object.fromEntries(Object.entries(functions).map(([name, { to }]) => [name, to])));
  await expect(document(observed)).toMatchFileSnapshot("../../../docs/state-machine.md");
}, 120_000);

function document(observed: Record<string, Record<string, string>>): string {
  const names = Object.keys(starts);
  const lines = Object.entries(observed).map(([name, to]) => `| ${name} | ${names.map((start) => to[start]).join(" | ")} |`);
  return `# The queue's state machine

Written by \`tests/integration/oci/state-machine.test.ts\`, which calls every function on a row in every state and fails when this page says
something else (\`vitest run --project integration tests/integration/oci/state-machine.test.ts -u\` writes it again). A dash means that the row
stays exactly as it is. "FAILED, to be tried again" has a \`next_retry_at\`; FAILED without one is final until an operator says otherwise.
An attempt is spent by a claim and by nothing else. A wait that Google asks for gives it back, at most twenty times a row.

| function | ${names.join(" | ")} |
|---|${names.map(() => "---|").join("")}
${lines.join("\n")}

A success wins from every state but COMPLETED, if the row was ever handed out (to a worker: under the claim that it names): Google has
it, whatever we thought meanwhile. A script's failure names its claim, too; one that is not the row's newest is refused.
What Google later says of it is the dispatch's verdict and moves no row. A rejection queues a new row with the same order id: by itself
where Google says that it may pass, at most four times, else when an operator sends it again. An operator can
send again what Google never said anything about (UNKNOWN), too.
Refused access (FAILED, AUTH) of a worker's attempt ends with new credentials, a passed test or a switch to the script: those
rows are QUEUED with a fresh budget.

A worker is handed a row only when \`private.sendable_queue\` has it; the same view is counted and deferred. Beside its time, its attempts
and its sale, a row waits for these:

| waits for | which rows |
|---|---|
| the retraction of an earlier sale of the lead | a conversion; else both would count |
| Google's verdict | an adjustment of what Data Manager accepted |
| a day | an adjustment of what a script or a person sent; it then goes over the Ads API |
| a conversion action of its name | any, until the owner chooses one or a test passes |
| a person (\`by_hand_reason\`) | an adjustment that no API makes; every adjustment where a script sends |
`;
}

test("a worker's functions leave a script's rows alone, and the other way round", async () => {
  await claimForWorker(db.sql, api, { at: now }); // what the test before left
  const ofScript = await sealed(script);
  const ofApi = await sealed(api);
  expect((await claimForWorker(db.sql, script, { at: now })).rows).toEqual([]);
  await expect(claimForScript(db.sql, api, [ofApi], now)).rejects.toMatchObject({ message: "WRONG_SYNC_METHOD" });
  expect((await claimForScript(db.sql, script, [ofScript, ofApi], now)).rows.map(({ id }) => id)).toEqual([ofScript]);
  const groups = await service<{ site_id: string; queued_count: number }[]>(db.sql, "list_offline_conversion_groups", {}, now);
  expect(groups).toEqual([
    expect.objectContaining({ site_id: api.siteUuid, provider_key: "google_ads", queued_count: 1, min_next_retry_at: null }),
  ]);
  expect(new Date(String(groups[0]?.["min_created_at" as never])).getTime()).toBe(sealedAt.getTime());
});
