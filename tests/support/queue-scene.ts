import type { Page } from "@playwright/test";
import type postgres from "postgres";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { QueueScene } from "#tests/fixtures/queue-scene.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { type Person, password, type Team } from "#tests/fixtures/team.ts";
import { signIn } from "./e2e-test.ts";
import { withOwnSite } from "./own-site.ts";

export interface Site {
  team: Team;
  scene: QueueScene;
  sql: postgres.Sql;
}

/** A script site of its own on the browser's stack, whose conversions can be sent at once. */
export const withQueueSite = <T>(stack: DemoFile, run: (site: Site) => Promise<T>): Promise<T> =>
  withOwnSite(stack, createQueueTeam, (team, sql) => run({ team, sql, scene: new QueueScene(sql, team) }));

export async function openControl(page: Page, team: Team, person: Person, query = ""): Promise<Page> {
  await signIn(page, { email: person.email, password });
  await alive(page, () => page.goto(`/dashboard/site/${team.siteId}/oci-control${query}`));
  return page;
}

/** OCI Control's first question says that it listens; before it a press would fall on HTML that nobody has taken over yet. */
export async function alive(page: Page, go: () => Promise<unknown>): Promise<void> {
  await Promise.all([page.waitForResponse(/\/version\?of=queue/), go()]);
}

/** The same for a page that asks nothing itself: the navigation asks for its count. */
export async function navAlive(page: Page, go: () => Promise<unknown>): Promise<void> {
  await Promise.all([page.waitForResponse(/\/api\/oci\/queue-stats/), go()]);
}

/** Where a row stands now, as the database says. */
export async function statusOf(sql: postgres.Sql, ids: string[]): Promise<string[]> {
  const rows = await sql<{ status: string }[]>`
    select status from public.offline_conversion_queue where id = any (${ids}) order by array_position(${ids}::uuid[], id)`;
  return rows.map(({ status }) => status);
}
