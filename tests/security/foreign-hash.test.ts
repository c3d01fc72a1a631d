import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setLeadContact } from "#lib/leads/lead-contact.ts";
import { importSales } from "#lib/seal/import-sales.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { callersOfNumber, sha256Of, vouchedCallers } from "#tests/fixtures/callers.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

/**
 * Sales, other leads of a person and an erasure are found by the hash of a number. An operator who could store another's hash would draw
 * that customer's sales to a click of their choice. They know the publishable key and have their own session: every function that people may call.
 */

let db: TestDatabase;
let team: Team;
let other: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  useAppEnv({ database: db });
  team = await createTeam(db.sql, "hashes");
  other = await createTeam(db.sql, "elsewhere", team.owner);
});
afterAll(() => db.drop());

const own = "+905321110001";
const victims = "+905329990002";
const store = (id: string, phone: string, caller: unknown) =>
  callAs(db.sql, team.operator, (tx) => tx`select public.set_lead_contact(${team.siteId}, ${id}, ${tx.json({ phone, caller } as never)})`);
const stored = async (id: string) => {
  const [row] = await db.sql`select phone, caller_hash as hash, caller_key_id as "keyId" from public.calls where id = ${id}`;
  return { ...row };
};
const whatsapp = () => newLead(db.sql, team, { action: "whatsapp", at: new Date(Date.now() - 7_200_000) });
const line = (more: object) => ({
  line: 2,
  externalRef: randomUUID(),
  occurredAt: new Date(Date.now() - 60_000).toISOString(),
  amountCents: 5_000,
  currency: "TRY",
  ...more,
});

describe("an operator stores another customer's hash beside a number of their own", () => {
  const victimsHash = () => callersOfNumber(victims)[0];
  // Mutation: take p_contact #>> '{caller,hash}' as it comes.
  test.each<[string, () => Promise<unknown>]>([
    ["as it is", async () => victimsHash()],
    [
      "with the voucher of their own number",
      async () => ({ ...victimsHash(), voucher: (await vouchedCallers(db.sql, team.siteId, own))[0]?.voucher }),
    ],
    ["with the voucher of that number", async () => (await vouchedCallers(db.sql, team.siteId, victims))[0]],
    ["with the voucher of the same number on another site", async () => (await vouchedCallers(db.sql, other.siteId, own))[0]],
    ["under another key's name", async () => ({ ...(await vouchedCallers(db.sql, team.siteId, own))[0], keyId: "k0" })],
    ["with no voucher at all", async () => ({ ...victimsHash(), voucher: null })],
    ["as the bare SHA-256, which matches what older versions stored", async () => ({ hash: sha256Of(victims), keyId: null })],
    ["in a list", async () => [victimsHash()]],
    ["as text", async () => "f".repeat(64)],
  ])("%s: the number is kept, the hash is not", async (_how, caller) => {
    const id = await whatsapp();
    await store(id, own, await caller());
    expect(await stored(id)).toEqual({ phone: own, hash: null, keyId: null });
  });

  test("and the app's own hash of the number that was typed is kept", async () => {
    const id = await whatsapp();
    await store(id, own, (await vouchedCallers(db.sql, team.siteId, own))[0]);
    expect(await stored(id)).toEqual({ phone: own, ...callersOfNumber(own)[0] });
  });
});

describe("an operator imports a sale under another customer's hash", () => {
  const imported = (rows: unknown[], preview = false) =>
    callAs<{ callId?: string }[]>(db.sql, team.operator, (tx) =>
      preview
        ? tx`select public.preview_import(${team.siteId}, ${tx.json(rows as never)})`
        : tx`select public.import_sales(${team.siteId}, ${tx.json(rows as never)}, false)`,
    );

  // Guarantee: nobody takes another customer's call for a sale of their own, or learns that it exists. Mutation: leave vouched_lines out.
  test.each([true, false])("and it takes none of that customer's calls; preview: %s", async (preview) => {
    await newLead(db.sql, team, { phone: victims, at: new Date(Date.now() - 7_200_000) });
    const foreign = [callersOfNumber(victims), await vouchedCallers(db.sql, team.siteId, victims), "callers", { hash: 1 }, [[]], [null]];
    for (const callers of foreign) {
      const [result] = await imported([line({ customerPhone: own, callers })], preview);
      expect(result).toMatchObject({ result: "created" });
      expect(result?.callId).toBeUndefined();
    }
    const rows = await db.sql`select distinct caller_hash from public.sales where site_id = ${team.siteUuid}`;
    for (const { caller_hash } of rows) expect(caller_hash).toBeNull();
  });

  test.each([["callers"], [null], [[1]], { callers: [] }].map((rows) => [rows]))(
    "lines that are none, %j, are refused and break nothing",
    async (rows) => {
      const answer = await imported(rows as unknown[]).catch((error: { message: string }) => error.message);
      expect(JSON.stringify(answer)).toMatch(/VALIDATION_FAILED|refused/);
    },
  );
});

describe("the app itself", () => {
  const asOperator = { rpc: (name: string, args: Record<string, unknown>) => run(name, args) } as never;
  const run = async (name: string, args: Record<string, unknown>) => {
    const names = Object.keys(args);
    const text = `select public.${name}(${names.map((key, index) => `${key} => $${index + 1}`).join(", ")}) as value`;
    const data = await callAs(db.sql, team.operator, (tx) => tx.unsafe(text, Object.values(args) as never[]));
    return { data, error: null };
  };

  test("vouches for what an operator types, and for what a file brings by number or by hash", async () => {
    const id = await whatsapp();
    await setLeadContact(asOperator, { siteId: team.siteId, callId: id, body: { phone: "0532 444 55 66" } });
    expect(await stored(id)).toEqual({ phone: "+905324445566", ...callersOfNumber("+905324445566")[0] });
    const rows = [line({ customerPhone: "0532 444 55 66" }), line({ line: 3, customerHash: sha256Of("+905324445566").toUpperCase() })];
    const { results } = await importSales(asOperator, team.siteId, { rows: rows as never, seal: false, preview: true, taken: [] });
    expect(results.map(({ matchedBy }) => matchedBy)).toEqual(["phone", undefined]); // the first has taken the call
    const [, byHash] = rows;
    const again = await importSales(asOperator, team.siteId, { rows: [byHash] as never, seal: false, preview: true, taken: [] });
    expect(again.results[0]?.callId).toBe(id);
  });
});
