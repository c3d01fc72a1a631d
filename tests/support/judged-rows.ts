import type postgres from "postgres";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, type Result, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import type { Person, Team } from "#tests/fixtures/team.ts";
import { recordVerdict } from "./verdicts.ts";

const kinds = ["CONVERSION", "RESTATE", "RETRACT"] as const;
type Kind = (typeof kinds)[number];
/** What happens to a row before its sale changes. BY_HAND: the API refused the adjustment, so it waits for a person. */
const ends = ["QUEUED", "PROCESSING", "RETRY", "BY_HAND", "FAILED", "COMPLETED", "UNKNOWN", "REJECTED"] as const;
type End = (typeof ends)[number];
/** What happens to its sale then. FOLLOWED: it is cancelled and its lead is sealed again. */
const fates = ["LIVES", "CANCELED", "CORRECTED", "WITHDRAWN", "FOLLOWED"] as const;
type Fate = (typeof fates)[number];

interface Plan {
  kind: Kind;
  end: End;
  fate: Fate;
}
export interface Scene extends Plan {
  id: string;
  saleId: string;
  callId: string;
  visitor: string;
}

const exists = ({ kind, end, fate }: Plan) =>
  !(kind === "CONVERSION" && end === "BY_HAND") && // a script or an API sends every conversion
  // Only Data Manager rejects later, and it takes no retraction. A cancelled sale has no amount, and comes back when it is sealed.
  !(kind === "RETRACT" && (end === "REJECTED" || fate === "CORRECTED" || fate === "LIVES"));
const plans = kinds.flatMap((kind) => ends.flatMap((end) => fates.map((fate) => ({ kind, end, fate })))).filter(exists);

const answers: Partial<Record<End, Result>> = {
  RETRY: { outcome: "RETRY", category: "RATE_LIMIT", code: "429", retryAt: minutesLater(60) },
  BY_HAND: { outcome: "FAILED", category: "AUTH", code: "DEVELOPER_TOKEN", byHand: "NO_ADS_API_ACCESS" },
  FAILED: { outcome: "FAILED", category: "VALIDATION", code: "INVALID" },
  COMPLETED: { outcome: "COMPLETED", transport: "ads_api", verdict: "CONFIRMED" },
  UNKNOWN: { outcome: "COMPLETED", transport: "ads_api", verdict: "UNKNOWN" },
};

/** A row of each kind in each state, of a sale in each state, on a site of its own; made by the product's own functions alone. */
export async function rowsOfEveryKind(sql: postgres.Sql, name: string, founder?: Person): Promise<{ team: Team; scenes: Scene[] }> {
  const team = await createApiTeam(sql, name, founder, { transport: "ads_api" });
  const make = new Maker(sql, team);
  // A claim takes whatever waits: what is to stay QUEUED comes after the last one.
  const isLate = ({ kind, end }: Plan) => kind === "CONVERSION" && end === "QUEUED";
  const scenes: Scene[] = [];
  for (const plan of plans) if (!isLate(plan)) scenes.push(await make.seal(plan, 0));
  await make.answer(scenes, 1);
  for (const scene of scenes) if (scene.end !== "QUEUED") await make.adjust(scene, 3);
  await make.answer(scenes, 4);
  for (const scene of scenes) if (scene.end === "QUEUED") await make.adjust(scene, 6);
  for (const plan of plans) if (isLate(plan)) scenes.push(await make.seal(plan, 6));
  for (const scene of scenes) await make.fate(scene, 8);
  return { team, scenes: await make.withRows(scenes) };
}

class Maker {
  readonly sql: postgres.Sql;
  readonly team: Team;
  constructor(sql: postgres.Sql, team: Team) {
    this.sql = sql;
    this.team = team;
  }

  async seal(plan: Plan, minute: number): Promise<Scene> {
    const visitor = `${this.team.siteId}-${Object.values(plan).join("-")}`;
    const callId = await newLead(this.sql, this.team, { at: minutesLater(minute - 5), visitor });
    const { body } = await this.change("seal_call", { id: callId, amountCents: 100_00 }, minute);
    return { ...plan, id: "", saleId: String(body.saleId), callId, visitor };
  }

  /** Claims what waits and answers for it. A conversion that an adjustment is for arrives. */
  async answer(scenes: Scene[], minute: number): Promise<void> {
    const ends = new Map(scenes.map(({ saleId, kind, end }) => [`${saleId} ${kind}`, end]));
    const endOf = (row: { saleId: string; kind: string }) => ends.get(`${row.saleId} ${row.kind}`) ?? "COMPLETED";
    const claim = await claimForWorker(this.sql, this.team, { at: minutesLater(minute), limit: 1000 });
    const rows = claim.rows.filter((row) => endOf(row) !== "PROCESSING");
    const taken = (id: string): Result => ({ outcome: "COMPLETED", transport: "data_manager", requestId: id, recordIndex: 0 });
    await settleClaim(this.sql, this.team, { ...claim, rows }, (row) => answers[endOf(row)] ?? taken(row.id), { at: minutesLater(minute) });
    for (const { id } of rows.filter((row) => endOf(row) === "REJECTED"))
      await recordVerdict(this.sql, this.team, id, "REJECTED", minutesLater(minute + 1), { reason: "FOR_GOOD" });
  }

  async adjust({ kind, saleId }: Scene, minute: number): Promise<void> {
    if (kind === "RESTATE") await this.change("correct_sale", { id: saleId, amountCents: 90_00 }, minute);
    if (kind === "RETRACT") await this.change("cancel_sale", { id: saleId }, minute);
  }

  async fate({ kind, fate, saleId, callId, visitor }: Scene, minute: number): Promise<void> {
    const isCancelled = kind === "RETRACT";
    const cancel = () => this.change("cancel_sale", { id: saleId }, minute);
    if (fate === "CANCELED" && !isCancelled) await cancel();
    if (fate === "CORRECTED") await this.change("correct_sale", { id: saleId, amountCents: 80_00 }, minute);
    if (fate === "FOLLOWED") {
      if (!isCancelled) await cancel();
      await this.change("seal_call", { id: callId, amountCents: 70_00 }, minute + 1);
    }
    if (fate === "WITHDRAWN") {
      const step = { at: minutesLater(minute), url: "https://judged.test/", marketingConsent: false };
      await recordVisit(this.sql, this.team.siteUuid, visitor, [step]);
    }
  }

  /** The first row of its kind is what a scene is about. */
  async withRows(scenes: Scene[]): Promise<Scene[]> {
    const rows = await this.sql<{ sale_id: string; kind: string; id: string }[]>`
      select distinct on (sale_id, kind) sale_id, kind, id from public.offline_conversion_queue
      where site_id = ${this.team.siteUuid} order by sale_id, kind, created_at, id`;
    const ids = new Map(rows.map((row) => [`${row.sale_id} ${row.kind}`, row.id]));
    return scenes.map((scene) => ({ ...scene, id: String(ids.get(`${scene.saleId} ${scene.kind}`)) }));
  }

  private async change(name: Parameters<typeof change>[2], args: Record<string, unknown>, minute: number) {
    const answer = await change(this.sql, { team: this.team }, name, args, { at: minutesLater(minute) });
    if (answer.status !== 200) throw new Error(`${name} was refused: ${JSON.stringify(answer.body)}`);
    return answer;
  }
}
