/** Run as a process of its own: takes units of one allowance as fast as it can until it was refused so often, and prints how many it got. */
import { takeUnits } from "#lib/http/allowance.ts";
import { redis } from "#lib/platform/redis.ts";

const { demand, refusalsMax, untilMs } = JSON.parse(process.argv[2] ?? "{}");
await redis().ping(); // a cold connection on a busy machine could take longer than Redis may
let taken = 0;
let refusals = 0;
while (refusals < refusalsMax && Date.now() < untilMs) {
  if (await takeUnits([demand])) {
    refusals++;
    await new Promise((resolve) => setTimeout(resolve, 100));
  } else taken += demand.units;
}
process.stdout.write(`${JSON.stringify({ taken })}\n`);
process.exit(0);
