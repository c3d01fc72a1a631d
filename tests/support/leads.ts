import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { recordVisit, type VisitStep } from "#scripts/local/demo/record-visit.ts";
import { callAs, type Person, type Team } from "./team.ts";

/** A visit with an ad click that ends in one call, made by the product's own functions. Gives the call's id. */
export async function newLead(sql: postgres.Sql, team: Team, step: Partial<VisitStep> = {}): Promise<string> {
  const stamp = randomUUID();
  const [call] = await recordVisit(sql, team.siteId, step.visitor ?? `visitor-${stamp}`, [
    {
      at: new Date(),
      category: "conversion",
      action: "phone_call",
      url: `https://${team.publicId}.test/`,
      gclid: `gclid-${stamp}`,
      intentStamp: stamp,
      ...step,
    },
  ]);
  if (!call) throw new Error("The visit left no call.");
  return call;
}

/** What a change of the desk answers: the stored bytes, read. */
export interface Answered {
  status: number;
  replayed: boolean;
  body: Record<string, unknown>;
}

type Change = "seal_call" | "change_call" | "undo_call" | "correct_sale" | "cancel_sale";

/** One change as an operator makes it, with a key and a hash of its own unless given. */
export async function change(
  sql: postgres.Sql,
  who: { team: Team; person?: Person },
  name: Change,
  args: Record<string, unknown>,
  { at, key = randomUUID(), hash = "0".repeat(64) }: { at?: Date; key?: string | null; hash?: string } = {},
): Promise<Answered> {
  const answer = await callAs<{ status: number; replayed: boolean; body: string }>(
    sql,
    who.person ?? who.team.operator,
    (tx) => tx`select ${tx(`public.${name}`)}(${who.team.publicId}, ${tx.json(args as never)}, ${hash}, ${key})`,
    at,
  );
  return { ...answer, body: JSON.parse(answer.body) };
}
