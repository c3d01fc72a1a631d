import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { callAs } from "#tests/fixtures/act-as.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { type ContractsApp, startContractsApp, transition, withKey } from "#tests/support/contracts-app.ts";

let app: ContractsApp;
let byKey: Record<string, string>;
let legal: Map<string, string[]>;
const shape = z.array(z.object({ contract: z.string(), from: z.string(), to: z.string(), undoOnly: z.boolean() }));
beforeAll(async () => {
  app = await startContractsApp();
  byKey = withKey(app.teamKey);
  const moves = shape.parse(await callAs(app.db.sql, app.team.viewer, (tx) => tx`select public.list_contract_moves()`));
  const byState = Map.groupBy(
    moves.filter(({ undoOnly }) => !undoOnly),
    ({ contract, from }) => `${contract} ${from}`,
  );
  legal = new Map([...byState].map(([state, list]) => [state, list.map(({ to }) => to)]));
});
afterAll(() => app.stop());

const states = {
  call: ["intent", "qualified", "meeting", "sealed", "junk", "cancelled"],
  sale: ["DRAFT", "CONFIRMED", "CANCELED"],
  conversion: ["QUEUED", "RETRY", "PROCESSING", "COMPLETED", "FAILED"],
} as const;

const move = (contract: string, id: unknown, to: string) => transition(byKey, { contract, id, to });

/** Brings a new record to a state by the product's own moves; null for states that only a machine brings about. */
const reach: Record<keyof typeof states, (state: string) => Promise<unknown | null>> = {
  async call(state) {
    const id = await newLead(app.db.sql, app.team);
    if (state !== "intent") expect((await move("call", id, state)).status).toBe(200);
    return id;
  },
  async sale(state) {
    if (state === "DRAFT") return null;
    const call = await reach.call("sealed");
    const [sale] = await app.db.sql`select id from public.sales where call_id = ${String(call)}`;
    if (state === "CANCELED") await move("sale", sale?.id, "CANCELED");
    return sale?.id;
  },
  async conversion(state) {
    if (state !== "QUEUED" && state !== "FAILED") return null;
    const call = await reach.call("sealed");
    const [row] = await app.db.sql`select id from public.offline_conversion_queue where call_id = ${String(call)}`;
    if (state === "FAILED") await move("conversion", row?.id, "FAILED");
    return row?.id;
  },
};

const stateOf: Record<keyof typeof states, (id: unknown) => Promise<unknown>> = {
  call: async (id) => (await app.db.sql`select status from public.calls where id = ${String(id)}`)[0]?.status,
  sale: async (id) => (await app.db.sql`select status from public.sales where id = ${String(id)}`)[0]?.status,
  conversion: async (id) => (await app.db.sql`select status from public.offline_conversion_queue where id = ${String(id)}`)[0]?.status,
};

const every = Object.entries(states).flatMap(([contract, list]) => list.map((from) => [contract as keyof typeof states, from] as const));

// Guarantee: no record gets into a state by a way that nobody agreed on, and the caller learns which ways there are.
test.each(every)("a %s that is %s goes where the contract says and nowhere else", async (contract, from) => {
  const allowed = legal.get(`${contract} ${from}`) ?? [];
  for (const to of [...states[contract], "nonsense"]) {
    const id = await reach[contract](from);
    if (id === null) {
      // No one brings a record there by this endpoint; the rule itself is asked.
      const asked = app.db.sql`select private.require_move(${contract}, ${from}, ${to}) as version`;
      if (allowed.includes(to)) expect((await asked)[0]?.version).toBe(`${contract}/1`);
      else await expect(asked).rejects.toMatchObject({ code: "PT409", message: "ILLEGAL_MOVE" });
      continue;
    }
    const answer = await move(contract, id, to);
    if (allowed.includes(to)) {
      expect([to, answer.status, answer.body.from, await stateOf[contract](id)]).toEqual([to, 200, from, to]);
    } else {
      expect([to, answer.status, answer.body]).toEqual([to, 409, expect.objectContaining({ code: "ILLEGAL_MOVE", from, to, allowed })]);
      expect(await stateOf[contract](id)).toBe(from);
    }
  }
});
