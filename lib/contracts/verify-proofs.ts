import type postgres from "postgres";
import { blockRoot, genesisRoot, proofHash } from "./proof-hash.ts";

/** Where the chain breaks first. `block` is null for a proof that is in none. */
interface ChainFault {
  site: string;
  block: number | null;
  proof: string | null;
  what: string;
}

export interface ChainVerdict {
  sites: number;
  blocks: number;
  proofs: number;
  /** Proofs that the sealer has not reached yet; the oldest one's time. */
  unsealed: { count: number; oldest: string | null };
  fault: ChainFault | null;
}

interface Block {
  site: string;
  site_id: string;
  number: number;
  first_proof: string;
  last_proof: string;
  proof_ids: string[];
  previous_root: string;
  root: string;
}

type Proof = Parameters<typeof proofHash>[0] & { site_id: string; hash: string };

type Sql = postgres.TransactionSql;

/** Blocks hold 1,000 proofs at most: what is in memory at once stays small whatever the history. */
const blocksPerRead = 20;
const proofsPerRead = 1000;

/** The fields of a receipt, as they stand in the tables. */
const proofColumns = (sql: Sql) => sql`
  p.id as proof_id, p.site_id, coalesce(s.public_id, '') as site, p.contract, p.contract_version, p.entity_id, p.from_state as from, p.to_state as to,
  p.actor_kind, p.actor_id, p.facts::text as facts, p.request_hash, to_char(p.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as occurred_at, p.hash`;

/** Walks every block of every site in order and then what is in no block, on one snapshot; stops at the first broken link. */
export function verifyProofs(sql: postgres.Sql): Promise<ChainVerdict> {
  return sql.begin("isolation level repeatable read read only", async (tx) => {
    const verdict: ChainVerdict = { sites: 0, blocks: 0, proofs: 0, unsealed: { count: 0, oldest: null }, fault: null };
    verdict.fault = (await walkBlocks(tx, verdict)) ?? (await walkUnsealed(tx, verdict)) ?? (await findLostWork(tx));
    return verdict;
  });
}

async function walkBlocks(tx: Sql, verdict: ChainVerdict): Promise<ChainFault | null> {
  let last: Block | undefined;
  for (;;) {
    const after = last ? tx`where (b.site_id, b.number) > (${last.site_id}, ${last.number})` : tx``;
    const blocks = await tx<Block[]>`
      select coalesce(s.public_id, b.site_id::text) as site, b.* from public.proof_blocks b left join public.sites s on s.id = b.site_id
      ${after} order by b.site_id, b.number limit ${blocksPerRead}`;
    for (const block of blocks) {
      const before = last?.site_id === block.site_id ? last : undefined;
      if (!before) verdict.sites++;
      const fault = linkFault(block, before) ?? (await contentFault(tx, block));
      if (fault) return { site: block.site, block: block.number, proof: null, ...fault };
      verdict.blocks++;
      verdict.proofs += block.proof_ids.length;
      last = block;
    }
    if (blocks.length < blocksPerRead) return null;
  }
}

type FaultInBlock = Pick<ChainFault, "what"> & Partial<ChainFault>;

function linkFault(block: Block, before: Block | undefined): FaultInBlock | null {
  const number = (before?.number ?? 0) + 1;
  if (block.number !== number) return { block: number, what: `the block is missing; the next there is has number ${block.number}` };
  if (block.previous_root !== (before?.root ?? genesisRoot)) return { what: "previous_root is not the root of the block before" };
  if (block.first_proof !== block.proof_ids[0] || block.last_proof !== block.proof_ids.at(-1))
    return { what: "first_proof and last_proof are not the ends of its list" };
  return null;
}

async function contentFault(tx: Sql, block: Block): Promise<FaultInBlock | null> {
  const rows = await tx<Proof[]>`
    select ${proofColumns(tx)} from public.transition_proofs p left join public.sites s on s.id = p.site_id where p.id = any (${block.proof_ids})`;
  const found = new Map(rows.map((row) => [row.proof_id, row]));
  const hashes: string[] = [];
  for (const id of block.proof_ids) {
    const proof = found.get(id);
    if (!proof) return { proof: id, what: "the proof is missing" };
    if (proof.site_id !== block.site_id) return { proof: id, what: "the proof belongs to another site" };
    if (proofHash(proof) !== proof.hash) return { proof: id, what: "its fields do not give its hash" };
    hashes.push(proof.hash);
  }
  if (blockRoot(block.previous_root, hashes) !== block.root)
    return { what: "the hashes of its proofs do not give its root: one was replaced with its hash, or their order was changed" };
  return null;
}

/** Proofs in no block: those on the sealer's list are new; any other was inserted, or its block was removed. */
async function walkUnsealed(tx: Sql, verdict: ChainVerdict): Promise<ChainFault | null> {
  const reading = tx<(Proof & { listed: boolean })[]>`
    select ${proofColumns(tx)}, u.proof_id is not null as listed
    from public.transition_proofs p left join public.sites s on s.id = p.site_id left join private.unsealed_proofs u on u.proof_id = p.id
    where not exists (select from (select unnest(b.proof_ids) as id from public.proof_blocks b) sealed where sealed.id = p.id)
    order by p.site_id, p.id`;
  let fault: ChainFault | null = null;
  await reading.cursor(proofsPerRead, (rows) => {
    for (const { listed, ...proof } of rows) {
      const where = { site: proof.site, block: null, proof: proof.proof_id };
      if (!listed) fault ??= { ...where, what: "the proof is in no block and waits for none" };
      else if (proofHash(proof) !== proof.hash) fault ??= { ...where, what: "its fields do not give its hash" };
      const { unsealed } = verdict;
      unsealed.count += listed ? 1 : 0;
      if (listed && (unsealed.oldest === null || proof.occurred_at < unsealed.oldest)) unsealed.oldest = proof.occurred_at;
    }
  });
  return fault;
}

/** The sealer's list against the proofs: one that is gone before it was sealed, or one that would be sealed twice. */
async function findLostWork(tx: Sql): Promise<ChainFault | null> {
  const [row] = await tx<{ proof_id: string; site: string; lost: boolean }[]>`
    select u.proof_id, coalesce(s.public_id, u.site_id::text) as site, p.id is null as lost
    from private.unsealed_proofs u left join public.sites s on s.id = u.site_id left join public.transition_proofs p on p.id = u.proof_id
    where p.id is null or exists (select from public.proof_blocks b where b.site_id = u.site_id and u.proof_id between b.first_proof and b.last_proof
      and u.proof_id = any (b.proof_ids))
    order by u.site_id, u.proof_id limit 1`;
  if (!row) return null;
  const what = row.lost ? "the proof was deleted before it was sealed" : "the proof is sealed and listed to be sealed again";
  return { site: row.site, block: null, proof: row.proof_id, what };
}
