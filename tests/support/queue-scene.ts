import { randomUUID } from "node:crypto";
import type { Page } from "@playwright/test";
import postgres from "postgres";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { QueueScene } from "#scripts/local/demo/seed-queue.ts";
import { fillSignIn } from "./e2e-test.ts";
import { createTeam, handOver, type Person, password, type Team } from "./team.ts";

export interface Site {
  team: Team;
  scene: QueueScene;
  sql: postgres.Sql;
}

/** A site with a team and a queue of its own on the browser's stack, so that no test meets another's rows. */
export async function withQueueSite<T>(stack: DemoFile, run: (site: Site) => Promise<T>): Promise<T> {
  const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
  try {
    const [founder] = await sql`select id, email from auth.users where email = ${stack.users[0]?.email ?? ""}`;
    const name = `queue-${randomUUID().slice(0, 8)}`;
    const made = await createTeam(sql, name, { id: String(founder?.id), email: String(founder?.email) });
    const team = await handOver(sql, made, `owner@${name}.test`);
    const site = { publicId: team.publicId, siteId: team.siteId, ownerId: team.owner.id, operatorId: team.operator.id };
    const scene = new QueueScene(sql, site);
    await scene.sendAtOnce();
    return await run({ team, scene, sql });
  } finally {
    await sql.end();
  }
}

export async function openControl(page: Page, team: Team, person: Person, query = ""): Promise<Page> {
  await page.goto("/sign-in");
  await fillSignIn(page, person.email, password);
  await page.waitForURL("**/dashboard**");
  await alive(page, () => page.goto(`/dashboard/site/${team.publicId}/oci-control${query}`));
  return page;
}

/** The page's first look says that it listens; before it a press would fall on HTML that nobody has taken over yet. */
export async function alive(page: Page, go: () => Promise<unknown>): Promise<void> {
  await Promise.all([page.waitForResponse(/\/version\?of=queue/), go()]);
}

/** Where a row stands now, as the database says. */
export async function statusOf(sql: postgres.Sql, ids: string[]): Promise<string[]> {
  const rows = await sql<{ status: string }[]>`
    select status from public.offline_conversion_queue where id = any (${ids}) order by array_position(${ids}::uuid[], id)`;
  return rows.map(({ status }) => status);
}
