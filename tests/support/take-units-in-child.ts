/** Run as a process of its own: takes units of one allowance as fast as it can until it was refused so often or has far too many, and prints how many it got. */
import { takeUnits } from "#lib/http/allowance.ts";
import { waitForRedis } from "./wait-for-redis.ts";

const { demand, refusalsMax, takenMax } = JSON.parse(process.argv[2] ?? "{}");
waitForRedis();
let taken = 0;
let refusals = 0;
while (refusals < refusalsMax && taken < takenMax) {
  if (await takeUnits([demand])) {
    refusals++;
    await new Promise((resolve) => setTimeout(resolve, 100));
  } else taken += demand.units;
}
process.stdout.write(`${JSON.stringify({ taken })}\n`);
process.exit(0);
