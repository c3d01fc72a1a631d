/** Everybody outside the product: visitors' browsers with the tracker, and a till that reports sales. Both use the public endpoints only. */
import type postgres from "postgres";
import type { SiteId } from "#lib/site.ts";

export interface Shop {
  siteId: SiteId;
  domain: string;
  /** What its till sends sales with. */
  crmKey: string;
}

export interface ReachingOut {
  /** 32 hexadecimal digits; the ids of visitor and events come from it. */
  id: string;
  page: string;
  campaign: string;
  term: string;
  gclid: string;
  action: "phone_call" | "whatsapp" | "form_submit";
}

export interface SoldLead {
  gclid: string;
  amountCents: number;
  note: string;
}

const phone = "Mozilla/5.0 (Linux; Android 15; SM-A556B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36";
const storeWaitMs = 15_000;

export class OutsideWorld {
  readonly #baseUrl: string;
  readonly #sql: postgres.Sql;
  readonly #signal: AbortSignal;

  constructor(baseUrl: string, sql: postgres.Sql, signal: AbortSignal) {
    this.#baseUrl = baseUrl;
    this.#sql = sql;
    this.#signal = signal;
  }

  /** A visit that ends with a tap, as the tracker reports it. A browser that sends it again is told that we have it. */
  async reachOut({ siteId, domain }: Shop, { id, page, campaign, term, gclid, action }: ReachingOut): Promise<void> {
    const meta = { fp: id, gclid, utm_source: "google", utm_medium: "cpc", utm_campaign: campaign, utm_term: term };
    const event = (step: string, ageMs: number, more: object) => ({
      u: `https://${domain}${page}`,
      r: "https://www.google.com/",
      sid: `${id}s`,
      eid: `${id}${step}`,
      t: ageMs,
      meta,
      ...more,
    });
    const events = [
      event("v", 95_000, { ec: "interaction", ea: "view" }),
      event("d", 40_000, { ec: "interaction", ea: "scroll_depth", el: "50%", ev: 50 }),
      event("c", 0, { ec: "conversion", ea: action, meta: { ...meta, intent_stamp: `${id}c` } }),
    ];
    const headers = { origin: `https://${domain}`, "user-agent": phone, "content-type": "text/plain" };
    await this.#post("/api/sync", headers, { s: siteId, v: 2, events });
  }

  /** The till knows which click brought the customer, and reports the sale once the lead is stored. */
  async sell({ siteId, crmKey }: Shop, { gclid, amountCents, note }: SoldLead): Promise<void> {
    await this.#untilStored(siteId, gclid);
    const headers = { "x-api-key": crmKey, "content-type": "application/json" };
    const external_ref = `INV-${gclid.slice(-12)}`;
    const sale = {
      external_ref,
      occurred_at: new Date().toISOString(),
      amount_cents: amountCents,
      gclid,
      marketing_consent: true,
      notes: note,
    };
    const { sale_id } = await this.#post("/api/sales", headers, sale);
    await this.#post("/api/sales/confirm", headers, { sale_id });
  }

  async #untilStored(siteId: SiteId, gclid: string): Promise<void> {
    const giveUpAt = Date.now() + storeWaitMs;
    while (Date.now() < giveUpAt && !this.#signal.aborted) {
      const [call] = await this.#sql`select from public.calls c join public.sites s on s.id = c.site_id
        where s.public_id = ${siteId} and c.gclid = ${gclid}`;
      if (call) return;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    throw new Error("The lead was not stored.");
  }

  async #post(path: string, headers: Record<string, string>, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(new URL(path, this.#baseUrl), {
      method: "POST",
      headers,
      body: JSON.stringify(body),
      signal: this.#signal,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
    return JSON.parse(text);
  }
}
