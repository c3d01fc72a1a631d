import { z } from "zod";
import { callRpc, untilDone } from "#lib/db/call-rpc.ts";

/** The crons of contracts. Each repeats short calls until nothing is left or its time or rounds are over; the next run continues. */

const sealing = z.object({ proofs: z.number(), blocks: z.number(), waiting: z.number().nullable() });
const purging = z.object({ purged: z.number() });

/** One call seals 20 blocks of 1,000 at most: 100,000 proofs in a run. */
const sealRoundsMax = 5;
const purgeBatch = 5000;

/** `waiting` is what is left: proofs of transactions that are still open, or more than one run can take. Null: another run is doing it. */
export async function sealProofs(): Promise<z.output<typeof sealing>> {
  const total: z.output<typeof sealing> = { proofs: 0, blocks: 0, waiting: null };
  for (let round = 0; round < sealRoundsMax; round++) {
    const { proofs, blocks, waiting } = await callRpc("seal_proof_blocks", {}, sealing);
    total.proofs += proofs;
    total.blocks += blocks;
    total.waiting = waiting;
    if (proofs === 0 || waiting === 0) break;
  }
  return total;
}

export async function purgeIdempotencyKeys(batch = purgeBatch): Promise<z.output<typeof purging>> {
  let total = 0;
  await untilDone(async () => {
    const { purged } = await callRpc("purge_idempotency_keys", { p_limit: batch }, purging);
    total += purged;
    return purged === batch;
  });
  return { purged: total };
}
