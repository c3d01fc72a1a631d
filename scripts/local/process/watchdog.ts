import { spawn } from "node:child_process";

// Reads "add <pid>" and "drop <pid>" lines. When its input closes, the parent is gone, whatever killed it: the
// listed process groups get SIGINT and, five seconds later, SIGKILL. (dash knows "--" only after "-s".)
const script = `
trap '' INT TERM HUP
pids=
while read -r word pid; do
  if [ "$word" = add ]; then pids="$pids $pid"; continue; fi
  kept=
  for known in $pids; do [ "$known" = "$pid" ] || kept="$kept $known"; done
  pids=$kept
done
for pid in $pids; do kill -s INT -- "-$pid" 2>/dev/null; done
for pid in $pids; do
  n=0
  while [ $n -lt 50 ] && kill -0 "$pid" 2>/dev/null; do sleep 0.1; n=$((n + 1)); done
  kill -s KILL -- "-$pid" 2>/dev/null
done`;

export interface Watchdog {
  add(pid: number): void;
  /** Call once the process has ended: its pid may soon belong to someone else. */
  drop(pid: number): void;
  /** Ends the watchdog, and with it whatever is still listed. */
  end(): void;
}

/** Makes sure that no listed process outlives this one, even after SIGKILL. Each must lead its own group. */
export function startWatchdog(): Watchdog {
  const child = spawn("sh", ["-c", script], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  child.unref();
  // Without a listener a watchdog that was killed would take this process down with an EPIPE.
  child.stdin.on("error", () => {});
  child.on("error", (error) => console.error(`The watchdog did not start: ${error.message}`));
  return {
    add: (pid) => void child.stdin.write(`add ${pid}\n`),
    drop: (pid) => void child.stdin.write(`drop ${pid}\n`),
    end: () => void child.stdin.end(),
  };
}
