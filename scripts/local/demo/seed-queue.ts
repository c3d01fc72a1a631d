/** A site's conversions in every state OCI Control shows, made by the functions that the desk and the script call, at their times. */
import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { actAs } from "../postgres/auth-user.ts";
import { recordVisit } from "./record-visit.ts";

export interface QueueSite {
  publicId: string;
  siteId: string;
  ownerId: string;
  operatorId: string;
}

interface Lead {
  amountCents: number;
  /** Minutes before now at which it was sealed. */
  sealedAgo: number;
  channel?: "phone_call" | "whatsapp";
}

const amounts = [425_000, 240_000, 125_000, 620_000, 890_000, 175_000, 320_000, 675_000, 940_000, 210_000];
const minute = 60_000;

export class QueueScene {
  readonly #sql: postgres.Sql;
  readonly #site: QueueSite;
  readonly #now: number;
  #made = 0;

  constructor(sql: postgres.Sql, site: QueueSite, now = new Date()) {
    this.#sql = sql;
    this.#site = site;
    this.#now = now.getTime();
  }

  ago(minutes: number): Date {
    return new Date(this.#now - minutes * minute);
  }

  /** Nothing waits for Google's six hours or for the undo window unless a scene says so. */
  async sendAtOnce(clickMinAgeHours = 0): Promise<void> {
    const { ownerId, publicId } = this.#site;
    await actAs(
      this.#sql,
      ownerId,
      (tx) => tx`select public.set_site_delivery(${publicId}, ${tx.json({ sendDelayMinutes: 0, clickMinAgeHours })})`,
    );
  }

  /** Leads that an operator sealed; gives the ids of their rows. */
  async sealed(leads: Lead[]): Promise<string[]> {
    const ids: string[] = [];
    for (const lead of leads) ids.push(await this.#seal(lead));
    return ids;
  }

  /** As many leads of usual amounts, sealed one after the other. */
  some(count: number, sealedAgo: number): Promise<string[]> {
    return this.sealed(
      Array.from({ length: count }, (_, index) => ({
        amountCents: amounts[(this.#made + index) % amounts.length] ?? 100_000,
        sealedAgo: sealedAgo + index * 7,
        ...(index % 3 === 1 && { channel: "whatsapp" as const }),
      })),
    );
  }

  claim(ids: string[], minutesAgo: number): Promise<void> {
    return this.#call(minutesAgo, (tx) => tx`select public.claim_offline_conversion_rows_for_script_export(${ids}::uuid[], ${this.#site.siteId})`);
  }

  async deliver(ids: string[], minutesAgo: number): Promise<void> {
    await this.claim(ids, minutesAgo + 1);
    await this.#call(minutesAgo, (tx) => tx`select public.ack_offline_conversions(${this.#site.siteId}, ${ids}::uuid[])`);
  }

  async fail(ids: string[], minutesAgo: number, { code, category, words }: { code: string; category: string; words: string }): Promise<void> {
    await this.claim(ids, minutesAgo + 1);
    await this.#call(
      minutesAgo,
      (tx) => tx`select public.fail_offline_conversions(${this.#site.siteId}, ${ids}::uuid[], ${code}, ${category}, ${words})`,
    );
  }

  /** What the crons do with rows that nobody answered for. */
  recover(minutesAgo: number): Promise<void> {
    return this.#call(minutesAgo, (tx) => tx`select public.recover_stuck_offline_conversion_jobs(15)`);
  }

  /** An operator corrects a sale that Google knows already. */
  async correct(rowId: string, amountCents: number, minutesAgo: number): Promise<void> {
    const [row] = await this.#sql`select sale_id from public.offline_conversion_queue where id = ${rowId}`;
    await this.#operator(minutesAgo, "correct_sale", { id: row?.sale_id, amountCents, reason: "Discount agreed on the phone" });
  }

  async #seal({ amountCents, sealedAgo, channel = "phone_call" }: Lead): Promise<string> {
    const { siteId, publicId } = this.#site;
    const number = this.#made++;
    const stamp = randomUUID();
    const [callId] = await recordVisit(this.#sql, siteId, `scene-${stamp}`, [
      {
        at: this.ago(sealedAgo + 12),
        category: "conversion",
        action: channel,
        url: `https://${publicId}.test/`,
        gclid: `Cj0KCQ${stamp.replaceAll("-", "").slice(0, 24)}`,
        intentStamp: stamp,
        phone: `+90537${String(2_100_000 + number * 1_371).padStart(7, "0")}`,
      },
    ]);
    await this.#operator(sealedAgo, "seal_call", { id: callId, amountCents });
    const [row] = await this.#sql`select id from public.offline_conversion_queue where call_id = ${callId ?? ""} and kind = 'CONVERSION'`;
    return String(row?.id);
  }

  async #operator(minutesAgo: number, name: "seal_call" | "correct_sale", args: Record<string, unknown>): Promise<void> {
    const { operatorId, publicId } = this.#site;
    const hash = "0".repeat(64);
    const call = (tx: postgres.TransactionSql) =>
      tx`select ${tx(`public.${name}`)}(${publicId}, ${tx.json(args as never)}, ${hash}, ${randomUUID()}) as answer`;
    const [row] = await actAs(this.#sql, operatorId, call, this.ago(minutesAgo));
    if (row?.answer.status !== 200) throw new Error(`${name} was refused: ${row?.answer.body}`);
  }

  async #call(minutesAgo: number, call: (tx: postgres.TransactionSql) => postgres.PendingQuery<postgres.Row[]>): Promise<void> {
    await this.#sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${this.ago(minutesAgo).toISOString()}, true)`;
      await call(tx);
    });
  }
}

/** Two weeks of a site: most was delivered, some failed for three reasons, some wait, two are stuck, one needs a person. */
export async function seedQueue(sql: postgres.Sql, site: QueueSite, now = new Date()): Promise<void> {
  const scene = new QueueScene(sql, site, now);
  const day = 24 * 60;
  await scene.sendAtOnce();
  let toCorrect = "";
  for (const [index, count] of [2, 3, 4, 2, 1, 3, 4, 3, 2, 4, 3, 2, 1].entries()) {
    const daysAgo = 13 - index;
    const ids = await scene.some(count, daysAgo * day + 90);
    await scene.deliver(ids, daysAgo * day + 20 + (index % 4) * 9);
    toCorrect = ids[0] ?? toCorrect;
  }
  const refusal = { code: "NO_CONVERSION_ACTION_FOUND", category: "VALIDATION", words: "No conversion action named OpsMantik_Won exists." };
  await scene.fail(await scene.some(4, 4 * day), 4 * day - 60, refusal);
  await scene.fail(await scene.some(1, day), day - 60, refusal);
  await scene.fail(await scene.some(2, 2 * day), 2 * day - 30, { code: "UNPARSEABLE_GCLID", category: "VALIDATION", words: "The gclid cannot be decoded." });
  await scene.fail(await scene.some(1, 5 * 60), 4 * 60, { code: "USER_PERMISSION_DENIED", category: "AUTH", words: "The user lost access to the account." });
  const slow = await scene.some(3, 110);
  await scene.fail(slow, 60, { code: "APPLY_FAILED", category: "TRANSIENT", words: "Exception: Service timed out: Google Ads" });
  await scene.recover(28);
  await scene.claim(await scene.some(2, 50), 22);
  await scene.claim(await scene.some(1, 20), 3);
  await scene.some(4, 8);
  await scene.sendAtOnce(6);
  await scene.some(2, 4);
  await scene.correct(toCorrect, 199_000, 15);
}
