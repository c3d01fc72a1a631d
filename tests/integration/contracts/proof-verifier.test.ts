import { spawnSync } from "node:child_process";
import type postgres from "postgres";
import { afterEach, describe, expect, test } from "vitest";
import { verifyProofs } from "#lib/contracts/verify-proofs.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { createTeam } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

// Guarantee: whoever can write to the tables past every trigger still cannot change history without being found.
describe("the verifier finds", () => {
  /** As a superuser who switched every trigger off; what is done here is undone by dropping the copy of the database. */
  type Tamper = (tx: postgres.TransactionSql, sealed: string[]) => Promise<unknown>;
  let copy: TestDatabase | undefined;
  afterEach(async () => {
    await copy?.drop();
    copy = undefined;
  });

  /** Three blocks of one site, two of another and two proofs that wait, in a database of its own. The first blocks also hold five acts each. */
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
    const rows = await db.sql`select p.id from public.proof_blocks b join public.transition_proofs p on p.id = any (b.proof_ids)
      where p.contract = 'call' order by b.site_id, b.number, p.id`;
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
    expect(await verifyProofs(db.sql)).toMatchObject({ sites: 2, blocks: 5, proofs: 20, unsealed: { count: 4 }, fault: null });
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
      stdout: expect.stringMatching(/^ok {5}20 proofs in 5 blocks of 2 sites.*\n {7}4 more wait for their block, the oldest since 20/),
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
