import { readdirSync, readFileSync } from "node:fs";

const ticksPerSecond = 100; // what Linux counts in, on every machine that we know

/** CPU time that processes and their children have used so far, in ms. On Linux only; 0 elsewhere. */
export function cpuMs(pids: readonly number[]): number {
  if (process.platform !== "linux") return 0;
  let ticks = 0;
  for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
      const [, parent, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(9, 13).map(Number);
      if (pids.includes(Number(entry))) ticks += user + system + endedUser + endedSystem;
      else if (pids.includes(Number(parent))) ticks += user + system;
    } catch {
      // It ended while we looked; its parent has its time.
    }
  }
  return (ticks * 1000) / ticksPerSecond;
}
