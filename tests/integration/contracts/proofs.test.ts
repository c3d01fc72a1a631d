import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GET as sealCron } from "#app/api/cron/contracts/seal-proofs/route.ts";
import { proofHash, receiptFault } from "#lib/contracts/proof-hash.ts";
import { type ProofReceipt, proofReceipt } from "#lib/contracts/receipt-shape.ts";
import { sealProofs } from "#lib/contracts/upkeep.ts";
import { verifyProofs } from "#lib/contracts/verify-proofs.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { type ContractsApp, receipt, startContractsApp, transition, withKey } from "#tests/support/contracts-app.ts";
import { send } from "#tests/support/requests.ts";
import { sharedStack } from "#tests/support/shared-stack.ts";

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
    await sealProofs(); // what the teams' own acts left
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
