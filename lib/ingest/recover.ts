import { z } from "zod";
import { callRpc, untilDone } from "#lib/db/call-rpc.ts";
import { drainEvents } from "./drain.ts";

/** The sweep behind every wake-up: whatever QStash lost is found here within a minute. */
export async function recoverIngest() {
  const drained = await drainEvents();
  const { folded } = await callRpc("fold_drops", {}, z.object({ folded: z.number() }));
  const { purged } = await callRpc("purge_stored_events", {}, z.object({ purged: z.number() }));
  return { ...drained, folded, purged };
}

/** Once a day: the coming months' partitions; choices of visitors of whom nothing was stored, and replaced call secrets, are deleted. */
export async function keepIngestTidy() {
  const { made } = await callRpc("ensure_event_partitions", {}, z.object({ made: z.array(z.string()) }));
  const purged = await forgetStrangersChoices();
  const { purged: purgedSecrets } = await callRpc("purge_replaced_secrets", {}, z.object({ purged: z.number() }));
  return { made, purgedChoices: purged, purgedSecrets };
}

/** Step by step until none is left: those that a flood brought too, or they would stay for good once they are five days old. */
async function forgetStrangersChoices(): Promise<number> {
  let sum = 0;
  await untilDone(async () => {
    const { purged } = await callRpc("purge_consent_choices", {}, z.object({ purged: z.number() }));
    sum += purged;
    return purged > 0;
  });
  return sum;
}
