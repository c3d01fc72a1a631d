import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { GET as sealCron } from "#app/api/cron/contracts/seal-proofs/route.ts";
import { proofHash, receiptFault } from "#lib/contracts/proof-hash.ts";
import { type ProofReceipt, proofReceipt } from "#lib/contracts/proof-receipt.ts";
import { sealProofs } from "#lib/contracts/upkeep.ts";
import { verifyProofs } from "#lib/contracts/verify-proofs.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { createTeam } from "#tests/fixtures/team.ts";
import { type ContractsApp, receipt, startContractsApp, transition, withKey } from "#tests/support/contracts-app.ts";
import { send } from "#tests/support/requests.ts";
import { sharedStack } from "#tests/support/shared-stack.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let app: ContractsApp;
let byKey: Record<string, string>;
beforeAll(async () => {
  app = await startContractsApp();
  byKey = withKey(app.teamKey);
});
afterAll(() => app.stop());

async function move(to: string, headers = byKey, team = app.team): Promise<string> {
  const { body } = await transition(headers, { contract: "call", id: await newLead(app.db.sql, team), to });
  return String(body.proof_id);
}

const read = async (proofId: string): Promise<ProofReceipt> => proofReceipt.parse((await receipt(byKey, proofId)).body);

describe("a receipt", () => {
  // Guarantee: a customer can prove what happened without us, with the receipt alone.
  test("gives its own hash without a database, and its block's root once it is sealed", async () => {
    const [seal, junk] = [await move("sealed"), await move("junk")];
    for (const id of [seal, junk]) {
      const early = await read(id);
      const { hash, block, ...fields } = early;
      expect([proofHash(fields), block]).toEqual([hash, null]);
    }
    expect(await sealProofs()).toMatchObject({ blocks: 1, waiting: 0 });
    const sealed = await read(seal);
    expect(sealed.block?.hashes).toContain(sealed.hash);
    expect(receiptFault(sealed)).toBeNull();
    expect(JSON.parse(sealed.facts)).toMatchObject({ amountCents: 10000, currency: "TRY", valueSource: "PREDICTED" });
  });

  test("with any one field changed does not hold", async () => {
    const good = await read(await move("qualified"));
    await sealProofs();
    const sealed = await read(good.proof_id);
    expect(receiptFault(sealed)).toBeNull();
    for (const key of Object.keys(sealed) as (keyof ProofReceipt)[]) {
      if (key === "block") continue;
      const changed = { ...sealed, [key]: sealed[key] === null ? "" : `${String(sealed[key]).slice(0, -1)}~` };
      expect([key, receiptFault(changed as ProofReceipt)]).not.toEqual([key, null]);
    }
    const block = sealed.block as NonNullable<ProofReceipt["block"]>;
    expect(receiptFault({ ...sealed, block: { ...block, previous_root: "f".repeat(64) } })).toMatch(/root/);
    expect(receiptFault({ ...sealed, block: { ...block, hashes: ["f".repeat(64)] } })).toMatch(/not among/);
  });

  test("is checked by a script that needs no database", async () => {
    const id = await move("junk");
    await sealProofs();
    const path = join(sharedStack().logDir, "receipt.json");
    const good = await read(id);
    writeFileSync(path, JSON.stringify(good));
    const run = () => spawnSync(process.execPath, ["scripts/verify-receipt.ts", path], { encoding: "utf8" });
    expect([run().status, run().stdout]).toEqual([0, expect.stringMatching(/^ok {5}call .*intent -> junk, sealed in block/)]);
    writeFileSync(path, JSON.stringify({ ...good, to: "sealed" }));
    expect([run().status, run().stdout]).toEqual([1, expect.stringMatching(/^WRONG/)]);
  });
});

describe("the sealer", () => {
  test("runs as a cron, for whoever has its secret", async () => {
    const proofId = await move("junk");
    expect((await send(sealCron, { method: "GET" })).status).toBe(401);
    const response = await send(sealCron, { method: "GET", headers: { authorization: `Bearer ${app.env.CRON_SECRET}` } });
    expect(await response.json()).toEqual({ proofs: 1, blocks: 1, waiting: 0 });
    expect((await read(proofId)).block).not.toBeNull();
  });

  // Guarantee: a proof that commits late is sealed later, never lost and never pushed into a block that was told to somebody.
  test("leaves what was written after the oldest open transaction, and takes it when that has ended", async () => {
    await sealProofs();
    const id = await newLead(app.db.sql, app.team);
    let later = "";
    await app.db.sql.begin(async (tx) => {
      await tx`select public.transition_contract_for_key(${app.teamKey.id}, ${tx.json({ contract: "call", id, to: "junk" })}, 'late', ${"0".repeat(64)})`;
      later = await move("qualified");
      expect(await sealProofs()).toEqual({ proofs: 0, blocks: 0, waiting: 1 });
      expect((await read(later)).block).toBeNull();
    });
    expect(await sealProofs()).toEqual({ proofs: 2, blocks: 1, waiting: 0 });
    expect((await verifyProofs(app.db.sql)).fault).toBeNull();
  });

  test("twice at once seals everything once", async () => {
    await move("junk");
    const runs = await app.db.sql.begin(async (tx) => {
      const [first] = await tx`select public.seal_proof_blocks() as sealed`;
      return [first?.sealed, await sealProofs()];
    });
    expect(runs).toEqual([
      { proofs: 1, blocks: 1, waiting: 0 },
      { proofs: 0, blocks: 0, waiting: null },
    ]);
  });
});

// Guarantee: whoever can write to the tables past every trigger still cannot change history without being found.
describe("the verifier finds", () => {
  /** As a superuser who switched every trigger off; what is done here is undone by dropping the copy of the database. */
  type Tamper = (tx: postgres.TransactionSql, sealed: string[]) => Promise<unknown>;
  let copy: TestDatabase | undefined;
  afterEach(async () => {
    await copy?.drop();
    copy = undefined;
  });

  /** Three blocks of one site, two of another and two proofs that wait, in a database of its own. */
  async function history(): Promise<{ db: TestDatabase; sealed: string[] }> {
    copy = await createTestDatabase();
    const db = copy;

    const team = await createTeam(db.sql, "chain");
    const second = await createTeam(db.sql, "chain-two", team.owner);
    for (let round = 0; round < 4; round++) {
      for (const each of [team, second].slice(0, round === 2 ? 1 : 2)) {
        for (let index = 0; index < 2; index++) {
          const id = await newLead(db.sql, each);
          await callAs(
            db.sql,
            each.operator,
            (tx) => tx`
            select public.transition_contract(${tx.json({ contract: "call", id, to: "qualified" })}, ${id}, ${"0".repeat(64)})`,
          );
        }
      }
      if (round < 3) await db.sql`select public.seal_proof_blocks()`;
    }
    const rows = await db.sql`select unnest(b.proof_ids) as id from public.proof_blocks b order by b.site_id, b.number`;
    return { db, sealed: rows.map((row) => row.id) };
  }

  const rehash = (tx: postgres.TransactionSql, id: string) =>
    tx`update public.transition_proofs p set hash = private.proof_hash(p) where p.id = ${id}`;
  const tampers: [string, Tamper, RegExp][] = [
    [
      "a changed field",
      (tx, [, id]) => tx`update public.transition_proofs set to_state = 'sealed' where id = ${String(id)}`,
      /block 1, proof .*fields/,
    ],
    [
      "a changed amount",
      (tx, [, , id]) => tx`update public.transition_proofs set facts = facts || '{"version": 9}' where id = ${String(id)}`,
      /block 2, proof .*fields/,
    ],
    [
      "a field changed together with its hash",
      async (tx, [id]) => {
        await tx`update public.transition_proofs set actor_id = null where id = ${String(id)}`;
        await rehash(tx, String(id));
      },
      /block 1, proof -: the hashes/,
    ],
    ["a deleted proof", (tx, [, , , id]) => tx`delete from public.transition_proofs where id = ${String(id)}`, /block 2, proof .*missing/],
    ["a deleted block", (tx) => tx`delete from public.proof_blocks where number = 2`, /block 2, proof -: the block is missing/],
    ["a deleted last block", (tx) => tx`delete from public.proof_blocks b where number = 3`, /block none, proof .*in no block/],
    [
      "a swapped order",
      (tx) =>
        tx`update public.proof_blocks set proof_ids = array[proof_ids[2], proof_ids[1]], first_proof = proof_ids[2], last_proof = proof_ids[1] where number = 2`,
      /block 2, proof -: the hashes/,
    ],
    ["swapped ends", (tx) => tx`update public.proof_blocks set first_proof = last_proof where number = 1`, /block 1, proof -: first_proof/],
    [
      "a block that was made again after a change, with a root that fits",
      async (tx, [id]) => {
        await tx`update public.transition_proofs set to_state = 'junk' where id = ${String(id)}`;
        await rehash(tx, String(id));
        await tx`update public.proof_blocks b set root = (select encode(sha256(convert_to(b.previous_root || string_agg(p.hash, '' order by p.id), 'UTF8')), 'hex')
          from public.transition_proofs p where p.id = any (b.proof_ids)) where ${String(id)} = any (b.proof_ids)`;
      },
      /block 2, proof -: previous_root/,
    ],
    [
      "a forged proof",
      async (tx, [id]) => {
        const forged =
          await tx`insert into public.transition_proofs select (jsonb_populate_record(p, jsonb_build_object('id', private.uuid_v7(), 'to_state', 'sealed'))).*
          from public.transition_proofs p where p.id = ${String(id)} returning id`;
        await rehash(tx, forged[0]?.id);
      },
      /block none, proof .*in no block and waits for none/,
    ],
    [
      "a forged proof put into a block",
      async (tx, [id]) => {
        const forged =
          await tx`insert into public.transition_proofs select (jsonb_populate_record(p, jsonb_build_object('id', private.uuid_v7()))).*
          from public.transition_proofs p where p.id = ${String(id)} returning id`;
        await rehash(tx, forged[0]?.id);
        await tx`update public.proof_blocks set proof_ids = proof_ids || ${forged[0]?.id}::uuid, last_proof = ${forged[0]?.id} where number = 1`;
      },
      /block 1, proof -: the hashes/,
    ],
    [
      "a proof of another site",
      (tx, [id]) =>
        tx`update public.transition_proofs p set site_id = (select s.id from public.sites s where s.id <> p.site_id limit 1) where p.id = ${String(id)}`,
      /block 1, proof .*another site/,
    ],
    [
      "a proof that was changed before it was sealed",
      (tx) =>
        tx`update public.transition_proofs set to_state = 'junk' where id = (select max(u.proof_id::text)::uuid from private.unsealed_proofs u)`,
      /block none, proof .*fields/,
    ],
    [
      "a proof that was deleted before it was sealed",
      (tx) => tx`delete from public.transition_proofs where id = (select max(u.proof_id::text)::uuid from private.unsealed_proofs u)`,
      /block none, proof .*deleted before/,
    ],
    [
      "a proof that would be sealed twice",
      (tx, [id]) =>
        tx`insert into private.unsealed_proofs select p.id, p.site_id from public.transition_proofs p where p.id = ${String(id)}`,
      /block none, proof .*sealed again/,
    ],
    ["a proof taken off the sealer's list", (tx) => tx.unsafe(`delete from private.unsealed_proofs`), /block none, proof .*in no block/],
  ];

  test.each(tampers)("%s", async (_name, tamper, expected) => {
    const { db, sealed } = await history();
    expect(await verifyProofs(db.sql)).toMatchObject({ sites: 2, blocks: 5, proofs: 10, unsealed: { count: 4 }, fault: null });
    await db.sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      await tamper(tx, sealed);
    });
    const { fault } = await verifyProofs(db.sql);
    expect(`site ${fault?.site}, block ${fault?.block ?? "none"}, proof ${fault?.proof ?? "-"}: ${fault?.what}`).toMatch(expected);
    expect(fault?.site).toMatch(/^[0-9a-f]{32}$/);
  });

  test("the first of several, and ends with 1; a good history ends with 0 and names what waits", async () => {
    const { db, sealed } = await history();
    const run = () => spawnSync(process.execPath, ["scripts/verify-proofs.ts", db.adminUrl], { encoding: "utf8" });
    expect(run()).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^ok {5}10 proofs in 5 blocks of 2 sites.*\n {7}4 more wait for their block, the oldest since 20/),
    });
    await db.sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      await tx`update public.transition_proofs set to_state = 'sealed' where id = any (${[String(sealed[3]), String(sealed[8])]})`;
    });
    const wrong = run();
    expect([wrong.status, wrong.stdout]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^WRONG {2}site [0-9a-f]{32}, block 2, proof ${sealed[3]}: its fields`)),
    ]);
    const denied = spawnSync(process.execPath, ["scripts/verify-proofs.ts", db.appUrl], { encoding: "utf8" });
    expect([denied.status, denied.stderr]).toEqual([2, expect.stringContaining("permission denied")]);
  });
});

test("nobody but a superuser can write there at all: triggers refuse our own functions too", async () => {
  const id = await move("junk");
  for (const statement of [
    `update public.transition_proofs set to_state = 'sealed' where id = '${id}'`,
    `delete from public.transition_proofs where id = '${id}'`,
    "truncate public.transition_proofs",
    "update public.proof_blocks set number = number + 1",
    "truncate public.proof_blocks",
  ])
    await expect(app.db.sql.unsafe(statement)).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
});
