import type { BrowserContextOptions, Page } from "@playwright/test";
import postgres from "postgres";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { createTeam, type Person, password, type Team } from "#tests/fixtures/team.ts";
import { expect, signIn } from "./e2e-test.ts";
import { founderOf } from "./own-site.ts";

export interface DeskSite {
  sql: postgres.Sql;
  team: Team;
  /** A signed-in person's page on the desk of this site. */
  open(page: Page, person: Person, query?: string): Promise<void>;
  end(): Promise<void>;
}

/** A site of a test's own in the running stack, so that the demo's leads neither help nor hinder. */
export async function openDeskSite(stack: DemoFile, name: string): Promise<DeskSite> {
  const sql = postgres(stack.adminDatabaseUrl, { max: 2, onnotice: () => {} });
  const founder = await founderOf(sql, stack);
  const team = await createTeam(sql, `${name}-${Date.now().toString(36)}`, founder);
  const sessions = new Map<string, NonNullable<Exclude<BrowserContextOptions["storageState"], string>>["cookies"]>();
  return {
    sql,
    team,
    async open(page, person, query = "") {
      const known = sessions.get(person.id);
      if (known) {
        await page.context().addCookies(known);
      } else {
        const signs = person.id === founder.id ? stack.users[0]?.password : password;
        await signIn(page, { email: person.email, password: signs ?? "" });
        const cookies = await page.context().cookies();
        sessions.set(
          person.id,
          cookies.filter((cookie) => cookie.name.startsWith("om_session")),
        );
      }
      await page.goto(`/dashboard/site/${team.siteId}${query}`);
      await expect(page.getByText(/^Live, \d+ s ago$/), "the page is awake").toBeVisible({ timeout: 30_000 });
    },
    end: () => sql.end(),
  };
}
