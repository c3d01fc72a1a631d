import type { DemoFile } from "#scripts/local/demo/demo-file.ts";

const deliveryCrons = ["/api/cron/process-offline-conversions", "/api/cron/providers/poll-verdicts"];

/** What the demo's ticker does every five seconds, for delivery alone. */
export async function tickDelivery({ baseUrl, cronSecret }: Pick<DemoFile, "baseUrl" | "cronSecret">): Promise<void> {
  const headers = { authorization: `Bearer ${cronSecret}` };
  await Promise.allSettled(deliveryCrons.map((path) => fetch(new URL(path, baseUrl), { headers })));
}
