import type { DemoFile } from "#scripts/local/demo/demo-file.ts";

/** How many rows one request of a bulk action changes on this stack. */
export const e2eActionBatch = 25;

/** The addresses, sites and users of the stack that this run's browser talks to. */
export function e2eStack(): DemoFile {
  const description = process.env.OPSMANTIK_E2E_STACK;
  if (!description) throw new Error("There is no stack: run the tests with `playwright test`, whose setup starts one.");
  return JSON.parse(description);
}
