/** Run as a process of its own: takes units of one allowance as fast as it can until it was refused so often, and prints how many it got. */
import { takeUnits } from "#lib/http/allowance.ts";

const { demand, refusalsMax, untilMs } = JSON.parse(process.argv[2] ?? "{}");
let taken = 0;
let refusals = 0;
let calls = 0;
while (refusals < refusalsMax && Date.now() < untilMs) {
  calls++;
  if (await takeUnits([demand])) {
    refusals++;
    await new Promise((resolve) => setTimeout(resolve, 100));
  } else taken += demand.units;
}
process.stdout.write(`${JSON.stringify({ taken, calls })}\n`);
process.exit(0);
