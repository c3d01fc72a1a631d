import { AdsAccount } from "#tests/fixtures/ads-script/ads-account.ts";
import type { DemoFile } from "../../demo-file.ts";

/** Every hour at a customer's; here often, so that nobody has to wait. */
export const scriptEveryMinutes = 2;

/** The customer's Google Ads Script in the account it is pasted into: by itself every two minutes, and when asked. */
export class ScriptRunner {
  readonly #account: AdsAccount;
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | null = null;
  lastRun: { at: Date; lines: string[] } | null = null;

  constructor({ baseUrl, googleUrl, sites }: Pick<DemoFile, "baseUrl" | "googleUrl" | "sites">, customerId: string) {
    const site = sites.find(({ syncMethod }) => syncMethod === "script");
    const properties = { OPSMANTIK_SITE_ID: site?.siteId ?? "", OPSMANTIK_API_KEY: site?.apiKey ?? "", OPSMANTIK_BASE_URL: baseUrl };
    this.#account = new AdsAccount(properties, "Europe/Istanbul", { url: googleUrl, customerId });
    this.#timer = setInterval(() => void this.run(), scriptEveryMinutes * 60_000);
  }

  /** Google runs a script once at a time: who asks meanwhile gets that run. */
  run(): Promise<void> {
    this.#running ??= this.#runOnce().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #runOnce(): Promise<void> {
    const { logs, error } = await this.#account.runScript();
    this.lastRun = { at: new Date(), lines: [...logs, ...(error ? [error] : [])] };
  }
}
