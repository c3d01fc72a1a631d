import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const lists = ["queue_states", "waiting_states", "open_states", "resting_states"] as const;

async function readLists(): Promise<Map<string, string>> {
  const named = await Promise.all(
    lists.map(async (list) => {
      const [row] = await db.sql.unsafe<{ states: string[] }[]>(`select private.${list}() as states`);
      return [(row?.states ?? []).toSorted().join(" "), list] as const;
    }),
  );
  return new Map(named);
}

/** What the catalog says of the queue: each index, constraint and trigger, as Postgres writes it. */
const readDefinitions = () => db.sql<{ name: string; definition: string }[]>`
  select c.relname as name, pg_get_indexdef(i.indexrelid) as definition from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid in ('private.queue_open'::regclass, 'private.queue_delivered'::regclass)
  union all
  select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid in ('private.queue_open'::regclass, 'private.queue_delivered'::regclass)
  union all
  select tgname, pg_get_triggerdef(oid) from pg_trigger
    where tgrelid in ('private.queue_open'::regclass, 'private.queue_delivered'::regclass) and not tgisinternal
  order by 1`;

/** The states that a definition names of the row's state: a list, or a single one. */
const listed = /\bstate = ANY \(ARRAY\[(?<states>[^\]]*)\]\)/g;
const single = /\bstate (?:=|<>) '(?<state>\w+)'/g;
const literals = (text: string) => [...text.matchAll(/'(\w+)'/g)].map(([, state]) => String(state));

// Guarantee: a query that names a list of states is served by the index that repeats it as literals, and no state is forgotten in either.
// Mutations that break it: another state in waiting_states(), or one less in the predicate of an index.
test("indexes, constraints and triggers of the queue name the states as the functions for readers do", async () => {
  const names = await readLists();
  expect(names.size).toBe(lists.length);
  const found: Record<string, string> = {};
  for (const { name, definition } of await readDefinitions())
    for (const { groups } of definition.matchAll(listed)) {
      const states = literals(String(groups?.states)).toSorted().join(" ");
      found[name] = names.get(states) ?? states;
    }
  expect(found).toEqual({
    corrections_that_wait: "waiting_states",
    idx_offline_conversion_queue_eligible_scan: "waiting_states",
    waiting_rows_by_click_expiry: "waiting_states",
    waiting_rows_by_due_time: "waiting_states",
    waiting_rows_that_are_not_plain: "waiting_states",
    waiting_rows_that_were_tried: "waiting_states",
  });
});

test("a single state that they name is one of the queue's, and so is every state of its contract", async () => {
  const [row] = await db.sql<{ states: string[] }[]>`select private.queue_states() as states`;
  const definitions = await readDefinitions();
  const named = definitions.flatMap(({ definition }) => [...definition.matchAll(single)].map(({ groups }) => groups?.state));
  expect(new Set(named)).toEqual(new Set(["FAILED"]));
  // Whatever else looks at the state or the status would slip through the patterns above.
  const missed = definitions.filter(({ definition }) => /\bstat(?:e|us)\b[^,)]*'/.test(definition.replace(listed, "").replace(single, "")));
  expect(missed).toEqual([]);
  const moves = await db.sql<{ from_state: string; to_state: string }[]>`
    select from_state, to_state from public.contract_moves where contract = 'conversion'`;
  for (const state of [...named, ...moves.flatMap(({ from_state, to_state }) => [from_state, to_state])])
    expect(row?.states).toContain(state);
});

test("what waits and what is in flight is open, and what is in flight does not rest", async () => {
  const [row] = await db.sql`select private.queue_states() as every, private.waiting_states() as waiting,
    private.open_states() as open, private.resting_states() as resting`;
  expect(new Set(row?.open)).toEqual(new Set([...(row?.waiting ?? []), "PROCESSING"]));
  expect(new Set([...(row?.resting ?? []), "PROCESSING"])).toEqual(new Set(row?.every));
});
