/** `scripts/demo`: OpsMantik with everything it needs, on this machine alone. */
import { join } from "node:path";
import { startApp } from "./app/app-server.ts";
import { buildApp } from "./app/build-app.ts";
import { startCronTicker } from "./cron/cron-ticker.ts";
import { type DemoFile, describeDemo, removeDemoFile, writeDemoFile } from "./demo/demo-file.ts";
import { startDemoStack } from "./demo/demo-stack.ts";
import { startStory } from "./demo/story/story.ts";
import { ensureRedis } from "./ensure-system-packages.ts";
import { commandOptions } from "./process/command-options.ts";
import { freePort } from "./process/free-port.ts";
import { openBrowser } from "./process/open-browser.ts";
import { step } from "./process/progress.ts";
import { runUntilStopped } from "./process/run-until-stopped.ts";
import { checkoutDir } from "./process/state-dir.ts";
import type { StopList } from "./process/stop-list.ts";
import type { Stack } from "./stack.ts";

const usage = `Usage: scripts/demo [options]

Starts OpsMantik with Postgres, a Supabase gateway, Redis, QStash and a simulated Google of its own, and a page that leads
through it. No account, no Docker.

  --port N    use this port or the next free one (default 3000)
  --reset     forget all demo data first
  --no-open   do not open a browser
  --help      show this`;

/** Every ten minutes on Vercel; here often, so that a lead sealed in the demo is confirmed while somebody watches. */
const deliveryCrons = ["/api/cron/process-offline-conversions", "/api/cron/providers/poll-verdicts"];

const options = commandOptions(usage);

await runUntilStopped(async (stopList) => {
  console.log("Starting OpsMantik");
  ensureRedis();
  const meanwhile = ({ watchdog }: Stack) =>
    step(
      "Build",
      () => buildApp(watchdog),
      (outcome) => outcome,
    );
  const started = await startDemoStack({ preferredPort: options.port, reset: options.reset, meanwhile }, stopList);
  const { stack, seeded, port, logDir } = started;
  const app = await step("App", () =>
    startApp({ port, url: stack.siteUrl, env: stack.env, watchdog: stack.watchdog, logPath: join(logDir, "app.log") }),
  );
  stopList.add(app.stop);
  startCrons(stack.siteUrl, stack.cronSecret, stopList);

  const demo = describeDemo(stack, seeded);
  const storyUrl = await step("Story", async () =>
    startStory({ demo, stateDir: stack.stateDir, port: await freePort(port + 1) }, stopList),
  );
  writeDemoFile({ ...demo, storyUrl });
  stopList.add(async () => removeDemoFile());
  greet({ ...demo, storyUrl }, stack.redis.engine, logDir);
  if (options.open) openBrowser(storyUrl);
  return app.died;
});

function startCrons(baseUrl: string, cronSecret: string, stopList: StopList): void {
  const vercelJsonPath = join(checkoutDir, "vercel.json");
  const ticker = startCronTicker({ baseUrl, cronSecret, vercelJsonPath, oftenSeconds: 5, often: deliveryCrons });
  stopList.add(async () => ticker.stop());
}

function greet({ baseUrl, storyUrl, mailUrl, googleUrl, users }: DemoFile, redisEngine: string, logDir: string): void {
  const logins = users.map(({ email, password, role }) => `    ${email.padEnd(26)} ${password}   (${role})`);
  console.log(`
OpsMantik is running. Start here: ${storyUrl}

  From an ad click to a conversion that Google counted, in five minutes, on live data.

  Product   ${baseUrl}. Sign in as
${logins.join("\n")}

  Mailbox   ${mailUrl}   (mails are kept here and sent to nobody)
  Google    ${googleUrl}   (simulated; what it counted: ${googleUrl}/__sim/state)
  Redis     ${redisEngine}
  Logs      ${logDir}

  Leads keep coming; the first page stops them. Data is kept: scripts/demo --reset starts afresh.

Stop with Ctrl-C.`);
}
