/** `npm run dev`: the embedded stack with the demo's data, and Next compiling on demand. */
import { join } from "node:path";
import { startApp } from "./app/app-server.ts";
import { describeDemo, removeDemoFile, writeDemoFile } from "./demo/demo-file.ts";
import { startDemoStack } from "./demo/demo-stack.ts";
import { commandOptions } from "./process/command-options.ts";
import { openBrowser } from "./process/open-browser.ts";
import { step } from "./process/progress.ts";
import { runUntilStopped } from "./process/run-until-stopped.ts";

const usage = `Usage: npm run dev -- [options]

Starts the embedded stack, on the same data as scripts/demo, and Next in development mode.
Crons do not run by themselves: call their routes with the cronSecret of .local/demo.json.

  --port N    use this port or the next free one (default 3000)
  --reset     forget all demo data first
  --no-open   do not open a browser
  --help      show this`;

const options = commandOptions(usage);

await runUntilStopped(async (stopList) => {
  const { stack, seeded, port, logDir } = await startDemoStack({ preferredPort: options.port, reset: options.reset }, stopList);
  const logPath = join(logDir, "dev.log");
  const app = await step("Next", () =>
    startApp({ port, url: stack.siteUrl, env: stack.env, watchdog: stack.watchdog, logPath, command: "dev" }),
  );
  stopList.add(app.stop);
  writeDemoFile(describeDemo(stack, seeded));
  stopList.add(async () => removeDemoFile());
  console.log(`\nReady at ${stack.siteUrl}, mails at ${stack.mailUrl}, addresses and logins in .local/demo.json. Stop with Ctrl-C.\n`);
  if (options.open) openBrowser(stack.siteUrl);
  app.onOutput((text) => process.stdout.write(text));
  return app.died;
});
