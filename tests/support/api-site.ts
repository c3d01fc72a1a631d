import type postgres from "postgres";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { withOwnSite } from "./own-site.ts";
import { takeTurn } from "./tick-delivery.ts";

/** A connected API site of its own on the browser's stack. No key opens its credentials: what a worker would do, the test does. */
export const withApiSite = <T>(stack: DemoFile, run: (site: { team: Team; sql: postgres.Sql }) => Promise<T>): Promise<T> =>
  withOwnSite(stack, createApiTeam, async (team, sql) => {
    await takeTurn(sql, "undelivered");
    return run({ team, sql });
  });
