/** A site's conversions in every state OCI Control shows, made by the functions that the desk and the script call, at their times. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type postgres from "postgres";
import type { ScriptRun } from "#lib/oci/script/runs.ts";
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
const scriptFile = new URL("../../google-ads-oci/GoogleAdsScript.js", import.meta.url);
const scriptVersion = /SCRIPT_VERSION = "([\d.]+)"/.exec(readFileSync(scriptFile, "utf8"))?.[1] ?? "0";

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

  async claim(ids: string[], minutesAgo: number): Promise<void> {
    await this.#call(
      minutesAgo,
      (tx) => tx`select public.claim_offline_conversion_rows_for_script_export(${ids}::uuid[], ${this.#site.siteId})`,
    );
    await this.#noteRun("export", { items: ids.length, seals: ids.length }, minutesAgo);
  }

  async deliver(ids: string[], minutesAgo: number): Promise<void> {
    await this.claim(ids, minutesAgo + 1);
    await this.#call(minutesAgo, (tx) => tx`select public.ack_offline_conversions(${this.#site.siteId}, ${ids}::uuid[])`);
    await this.#noteRun("ack", { given: ids.length, updated: ids.length }, minutesAgo);
  }

  /** The script ran every ten minutes: what could be sent until then has been sent. */
  async deliverWaiting(untilMinutesAgo: number): Promise<void> {
    const rows = await this.#sql<{ id: string; ago: number }[]>`
      select id, extract(epoch from ${new Date(this.#now)}::timestamptz - greatest(not_before, created_at))::float8 / 60 as ago
      from public.offline_conversion_queue
      where site_id = ${this.#site.siteId} and status in ('QUEUED', 'RETRY') and kind = 'CONVERSION' order by not_before, id`;
    const runs = Map.groupBy(rows, ({ ago }) => Math.floor(ago / 10) * 10);
    for (const [minutesAgo, due] of runs) {
      if (minutesAgo > untilMinutesAgo)
        await this.deliver(
          due.map(({ id }) => id),
          minutesAgo - 2,
        );
    }
  }

  async fail(
    ids: string[],
    minutesAgo: number,
    { code, category, words }: { code: string; category: string; words: string },
  ): Promise<void> {
    await this.claim(ids, minutesAgo + 1);
    await this.#call(
      minutesAgo,
      (tx) => tx`select public.fail_offline_conversions(${this.#site.siteId}, ${ids}::uuid[], ${code}, ${category}, ${words})`,
    );
    await this.#noteRun("ack-failed", { given: ids.length, updated: ids.length }, minutesAgo);
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

  /** As the script's routes note each call. */
  #noteRun(kind: ScriptRun["kind"], counts: Record<string, number>, minutesAgo: number): Promise<void> {
    const run = { kind, counts, version: scriptVersion };
    return this.#call(minutesAgo, (tx) => tx`select public.record_script_run(${this.#site.publicId}, ${tx.json(run)})`);
  }

  async #call(minutesAgo: number, call: (tx: postgres.TransactionSql) => postgres.PendingQuery<postgres.Row[]>): Promise<void> {
    await this.#sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${this.ago(minutesAgo).toISOString()}, true)`;
      await call(tx);
    });
  }
}

/** What can go wrong, and what waits: three causes of failure, tries to come, stuck and held rows, a correction for a person. */
export async function addTroubles(scene: QueueScene): Promise<void> {
  const day = 24 * 60;
  const [toCorrect = "", ...others] = await scene.some(3, 3 * day);
  await scene.deliver([toCorrect, ...others], 3 * day - 40);
  const refusal = { code: "NO_CONVERSION_ACTION_FOUND", category: "VALIDATION", words: "No conversion action named OpsMantik_Won exists." };
  await scene.fail(await scene.some(4, 4 * day), 4 * day - 60, refusal);
  await scene.fail(await scene.some(1, day), day - 60, refusal);
  const unreadable = { code: "UNPARSEABLE_GCLID", category: "VALIDATION", words: "The gclid cannot be decoded." };
  await scene.fail(await scene.some(2, 2 * day), 2 * day - 30, unreadable);
  const locked = { code: "USER_PERMISSION_DENIED", category: "AUTH", words: "The user has no access to the account." };
  await scene.fail(await scene.some(1, 5 * 60), 4 * 60, locked);
  const broken = { code: "APPLY_FAILED", category: "TRANSIENT", words: "Exception: Service timed out: Google Ads" };
  await scene.fail(await scene.some(3, 110), 60, broken);
  await scene.recover(28);
  await scene.claim(await scene.some(2, 50), 22);
  await scene.claim(await scene.some(1, 20), 3);
  await scene.some(4, 8);
  await scene.sendAtOnce(6);
  await scene.some(2, 4);
  await scene.correct(toCorrect, 199_000, 15);
}

/** A site whose script has sent what its leads brought, with the troubles of a usual week. */
export async function seedQueue(sql: postgres.Sql, site: QueueSite, now = new Date()): Promise<void> {
  const scene = new QueueScene(sql, site, now);
  await scene.deliverWaiting(40);
  await scene.sendAtOnce();
  await addTroubles(scene);
}
