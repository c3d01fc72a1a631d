import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyProofs } from "#lib/contracts/verify-proofs.ts";
import { callRpc } from "#lib/db/call-rpc.ts";
import { onceAnswer } from "#lib/http/answer-once.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { type ContractsApp, startContractsApp } from "#tests/support/contracts-app.ts";

let app: ContractsApp;
beforeAll(async () => {
  app = await startContractsApp();
});
afterAll(() => app.stop());

/** The contract of a call and its sale, written a second time and without a database. */
const callMoves: Record<string, string[]> = {
  intent: ["qualified", "meeting", "sealed", "junk", "cancelled"],
  qualified: ["meeting", "sealed", "junk", "cancelled"],
  meeting: ["qualified", "sealed", "junk", "cancelled"],
  sealed: ["cancelled"],
  junk: ["intent"],
  cancelled: ["intent", "sealed"],
};
interface Model {
  call: string;
  callVersion: number;
  sale: "CONFIRMED" | "CANCELED" | null;
  moves: number;
}
type Step = { contract: "call" | "sale"; to: string; expected: "none" | "right" | "stale" };

/** Where a step leads, or the code with which it is refused. */
function reduce(model: Model, { contract, to, expected }: Step): Model | string {
  if (contract === "sale" && model.sale === null) return "NOT_FOUND";
  if (expected === "stale") return "STALE_VERSION";
  if (contract === "sale" && to === model.sale) return "ILLEGAL_MOVE";
  const callTo = contract === "call" ? to : to === "CONFIRMED" ? "sealed" : "cancelled";
  if (!callMoves[model.call]?.includes(callTo)) return "ILLEGAL_MOVE";
  const sale = callTo === "sealed" ? "CONFIRMED" : model.call === "sealed" ? "CANCELED" : model.sale;
  return { call: callTo, callVersion: model.callVersion + 1, sale, moves: model.moves + 1 };
}

const step = fc.oneof(
  fc.record({
    contract: fc.constant("call" as const),
    to: fc.constantFrom(...Object.keys(callMoves)),
    expected: fc.constantFrom("none" as const, "right" as const, "stale" as const),
  }),
  fc.record({
    contract: fc.constant("sale" as const),
    to: fc.constantFrom("CONFIRMED", "CANCELED"),
    expected: fc.constant("none" as const),
  }),
);
const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("move" as const), step }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("again" as const), which: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("same key, other body" as const), which: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.constant({ kind: "seal the proofs" as const }) },
);

interface Sent {
  args: { p_key_id: string; p_move: Record<string, string | number>; p_key: string; p_request_hash: string };
  body: string;
}

// Guarantee: whatever is asked in whatever order, and however often again, the record is where the contract says and each move is proven once.
test("random moves and repeats end where the model ends", { timeout: 120_000 }, async () => {
  let runs = 0;
  const send = (args: Sent["args"]) => callRpc("transition_contract_for_key", args, onceAnswer);
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 3, maxLength: 25 }), async (commands) => {
      const prefix = `model-${++runs}-`;
      const id = await newLead(app.db.sql, app.team);
      let model: Model = { call: "intent", callVersion: 1, sale: null, moves: 0 };
      const sent: Sent[] = [];
      for (const [index, each] of commands.entries()) {
        if (each.kind === "seal the proofs") {
          await app.db.sql`select public.seal_proof_blocks()`;
          continue;
        }
        if (each.kind !== "move") {
          const earlier = sent[each.which % Math.max(1, sent.length)];
          if (!earlier) continue;
          if (each.kind === "again") expect(await send(earlier.args)).toMatchObject({ replayed: true, body: earlier.body });
          else
            await expect(send({ ...earlier.args, p_request_hash: "f".repeat(64) })).rejects.toMatchObject({
              code: "IDEMPOTENCY_KEY_REUSED",
            });
          continue;
        }
        const { contract, to, expected } = each.step;
        const [sale] = await app.db.sql`select id from public.sales where call_id = ${id}`;
        const version = expected === "stale" ? model.callVersion + 1 : model.callVersion;
        const args = {
          p_key_id: app.teamKey.id,
          p_move: {
            contract,
            id: contract === "call" ? id : String(sale?.id ?? app.teamKey.id),
            to,
            ...(expected !== "none" && { expectedVersion: version }),
          },
          p_key: prefix + index,
          p_request_hash: "0".repeat(64),
        };
        const next = reduce(model, each.step);
        if (next === "NOT_FOUND") {
          await expect(send(args)).rejects.toMatchObject({ code: next });
          continue;
        }
        const answer = await send(args);
        sent.push({ args, body: answer.body });
        if (typeof next === "string") expect([answer.status, JSON.parse(answer.body).code]).toEqual([409, next]);
        else {
          expect([answer.status, JSON.parse(answer.body).to]).toEqual([200, to]);
          model = next;
        }
      }
      const [row] = await app.db.sql`
        select c.status as call, c.version as "callVersion", s.status as sale, (select count(*)::int from public.transition_proofs p where p.entity_id = c.id) as moves,
          coalesce(s.amount_cents, 0) = (select coalesce(sum(r.delta_cents), 0) from public.revenue_snapshots r where r.sale_id = s.id) as balanced
        from public.calls c left join public.sales s on s.call_id = c.id where c.id = ${id}`;
      expect({ ...row }).toEqual({ ...model, balanced: true });
    }),
    { numRuns: 120 },
  );
  await app.db.sql`select public.seal_proof_blocks()`;
  expect(await verifyProofs(app.db.sql)).toMatchObject({ fault: null, unsealed: { count: 0 } });
});
