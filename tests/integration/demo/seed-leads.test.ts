import { afterAll, beforeAll, expect, test } from "vitest";
import { keyRing } from "#lib/vault/secret.ts";
import { seedLeads } from "#scripts/local/demo/seed-leads.ts";
import { createTeam, join, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

const ring = keyRing({ OPSMANTIK_VAULT_KEY: Buffer.alloc(32, "demo").toString("base64") });
let db: TestDatabase;
let teams: [Team, Team];
beforeAll(async () => {
  db = await createTestDatabase();
  const first = await createTeam(db.sql, "akdere");
  const second = await createTeam(db.sql, "harbour", first.owner);
  await join(db.sql, second, first.operator, "operator"); // one operator for both, as in the demo
  teams = [first, second];
});
afterAll(() => db.drop());

async function seed(): Promise<unknown> {
  const [{ owner, operator }, { siteId }] = teams;
  const sites = [
    { siteId: teams[0].siteId, domain: "akdere.test" },
    { siteId, domain: "harbour.test" },
  ];
  await seedLeads(db.sql, sites, { people: { owner: owner.id, operator: operator.id }, ring });
  const [counts] = await db.sql`
    select (select count(*) from public.calls) as calls, (select count(*) from public.sessions) as sessions,
      (select count(*) from public.transition_proofs) as proofs, (select count(*) from public.revenue_snapshots) as snapshots`;
  return { ...counts };
}

// Guarantee: what a demo shows was made by the product, shows each kind of lead, and starting it again changes nothing.
test("a month of leads has every kind of outcome, and a second start adds nothing", async () => {
  const first = await seed();
  expect(await seed()).toEqual(first);
  const kinds = await db.sql`
    select s.public_id, count(*) filter (where c.status = 'sealed') as sealed, count(*) filter (where c.status = 'junk') as junk,
      count(*) filter (where c.status = 'qualified') as qualified, count(*) filter (where c.status = 'cancelled') as cancelled,
      count(*) filter (where c.status = 'intent' and c.called_at < now() - interval '48 hours') as needs_you,
      count(*) filter (where not c.marketing_consent) as no_consent, count(*) filter (where c.gclid is null and c.marketing_consent) as no_click,
      count(*) filter (where c.clicked_at < c.called_at - interval '80 days') as expiring,
      count(*) filter (where c.called_at > now() - interval '3 hours') as fresh,
      count(*) filter (where c.status = 'sealed' and c.status_at > now() - interval '14 hours') as sealed_today
    from public.calls c join public.sites s on s.id = c.site_id group by 1`;
  expect(kinds).toHaveLength(2);
  for (const { public_id: _, ...counts } of kinds) {
    for (const [kind, count] of Object.entries(counts)) expect({ kind, some: Number(count) > 0 }).toEqual({ kind, some: true });
  }
  const [ledger] = await db.sql`
    select count(*) filter (where s.amount_cents <> (select coalesce(sum(r.delta_cents), 0) from public.revenue_snapshots r where r.sale_id = s.id)) as wrong,
      count(*) filter (where exists (select from public.revenue_snapshots r where r.sale_id = s.id and r.kind = 'CORRECT')) > 0 as corrected
    from public.sales s`;
  expect({ ...ledger }).toEqual({ wrong: "0", corrected: true });
});
