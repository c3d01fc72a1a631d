import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GET as activityRoute } from "#app/api/sites/[siteId]/activity/route.ts";
import { POST as confirmRoute } from "#app/api/sites/[siteId]/sales/[saleId]/confirm/route.ts";
import { POST as importRoute } from "#app/api/sites/[siteId]/sales/import/route.ts";
import { GET as salesRoute } from "#app/api/sites/[siteId]/sales/route.ts";
import { parseCsv } from "#lib/csv/csv.ts";
import { salesPage } from "#lib/seal/sales-list.ts";
import type { SiteId } from "#lib/site.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { vouchedCallers } from "#tests/fixtures/callers.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { sealLead } from "#tests/fixtures/queue.ts";
import { createTeam, handOver, type Person, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
const cookies: Record<string, string> = {};
const hourAgo = () => new Date(Date.now() - 3_600_000);
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
  team = await createTeam(db.sql, "lists");
  const other = await handOver(db.sql, await createTeam(db.sql, "theirs", team.owner), "owner@elsewhere.test");
  for (const [name, person] of Object.entries({ operator: team.operator, viewer: team.viewer, outsider: other.owner }))
    cookies[name] = await cookiesOf(gateway, person);
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

const row = (line: number, more: Record<string, unknown> = {}) => ({
  line,
  externalRef: `row-${randomUUID()}`,
  occurredAt: hourAgo().toISOString(),
  amountCents: 125_000,
  currency: "TRY",
  ...more,
});
type Result = { line: number; result: string; code?: string; field?: string; saleId?: string; matchedBy?: string };
/** With time for all lines, however busy the machine is. */
const importRows = (
  rows: unknown[],
  { seal = false, preview = false, person = team.operator }: { seal?: boolean; preview?: boolean; person?: Person } = {},
) =>
  callAs<Result[]>(db.sql, person, (tx) =>
    preview
      ? tx`select public.preview_import(${team.siteId}, ${tx.json(rows as never)}) from set_config('opsmantik.import_ms', '60000', true)`
      : tx`select public.import_sales(${team.siteId}, ${tx.json(rows as never)}, ${seal}) from set_config('opsmantik.import_ms', '60000', true)`,
  );
const saleCount = async () => Number((await db.sql`select count(*) as n from public.sales`)[0]?.n);

describe("an import", () => {
  // Guarantee: two files that name the same calls in opposite order do not end in a deadlock. Mutation: without the site's lock the
  // second never waits, and this test times out.
  test("waits for another of the same site", async () => {
    const claims = JSON.stringify({ sub: team.operator.id, role: "authenticated" });
    const second = await whileOpen(
      db.sql,
      async (tx) => {
        await tx`select set_config('request.jwt.claims', ${claims}, true)`;
        await tx`select public.import_sales(${team.siteId}, ${tx.json([row(2)])}, false)`;
      },
      () => importRows([row(2)]),
    );
    expect(second).toMatchObject([{ line: 2, result: "created" }]);
  });

  // Guarantee: a preview says exactly what an import will do, and does none of it. Mutation: without the rollback the sales are there.
  test("is previewed without a trace, and then does the same", async () => {
    const phone = "+905321110000";
    await newLead(db.sql, team, { at: new Date(Date.now() - 7_200_000), phone });
    const callers = await vouchedCallers(db.sql, team.siteId, phone);
    const rows = [
      row(2, { customerPhone: phone, callers }),
      row(3, { customerPhone: phone, callers }),
      row(4, { amountCents: 0 }),
      row(5, { occurredAt: "2001-01-01" }),
    ];
    const proofs = async () => (await db.sql`select from public.transition_proofs`).length;
    const before = [await saleCount(), await proofs()];
    const preview = await importRows(rows, { preview: true });
    expect([await saleCount(), await proofs()]).toEqual(before);
    expect(preview.map(({ line, result, code, field, matchedBy }) => ({ line, result, code, field, matchedBy }))).toEqual([
      { line: 2, result: "created", matchedBy: "phone" },
      { line: 3, result: "created" }, // the first has taken the call
      { line: 4, result: "refused", code: "INVALID_AMOUNT", field: null },
      { line: 5, result: "refused", code: "VALIDATION_FAILED", field: "occurred_at" },
    ]);
    const imported = await importRows(rows);
    const plain = (results: Result[]) => results.map(({ saleId: _, ...rest }) => rest);
    expect(plain(imported)).toEqual(plain(preview));
    expect(plain(await importRows(rows)).map(({ result }) => result)).toEqual(["known", "known", "refused", "refused"]);
    expect(await saleCount()).toBe((before[0] ?? 0) + 2);
  });

  test("seals what can be sealed; what stands in the way of the rest is said", async () => {
    const visitor = randomUUID();
    const at = new Date(Date.now() - 7_200_000);
    const first = await newLead(db.sql, team, { at, visitor });
    await newLead(db.sql, team, { at: new Date(at.getTime() + 1000), visitor, gclid: `second-${visitor}` });
    await change(db.sql, { team }, "seal_call", { id: first, amountCents: 100 });
    const results = await importRows([row(2), row(3, { gclid: `second-${visitor}` })], { seal: true });
    expect(results).toMatchObject([
      { line: 2, result: "sealed" },
      { line: 3, result: "created", code: "VISIT_ALREADY_SEALED" },
    ]);
    const statuses =
      await db.sql`select status from public.sales where id = any (${results.map(({ saleId }) => String(saleId))}) order by status`;
    expect(statuses.map(({ status }) => status)).toEqual(["CONFIRMED", "DRAFT"]);
  });

  // Guarantee: no import and no preview is a statement that hosted Supabase ends at 8 s.
  test.each([false, true])("is for operators, in steps of 100 lines (preview: %s)", async (preview) => {
    await expect(importRows([row(2)], { person: team.viewer, preview })).rejects.toMatchObject({ message: "FORBIDDEN" });
    const many = Array.from({ length: 101 }, (_, index) => row(index + 2));
    await expect(importRows(many, { preview })).rejects.toMatchObject({ message: "VALIDATION_FAILED" });
    expect(await importRows(many.slice(1), { preview })).toHaveLength(100);
  });
});

describe("the list of sales", () => {
  const now = Date.now(); // the day may end between two tests
  const dayAgo = (days: number) => new Date(now - days * 86_400_000).toISOString().slice(0, 10);
  const list = async (filter: Record<string, unknown> = {}) =>
    salesPage.parse(await callAs(db.sql, team.viewer, (tx) => tx`select public.list_sales(${team.siteId}, ${tx.json(filter as never)})`));

  test("walks every sale once, newest first", async () => {
    await importRows(
      Array.from({ length: 7 }, (_, index) => row(index + 2, { occurredAt: new Date(Date.now() - index * 60_000).toISOString() })),
    );
    const seen: string[] = [];
    for (let cursor: string | null = null, turn = 0; turn < 50; turn++) {
      const { sales, next } = await list({ limit: 3, ...(cursor && { cursor }) });
      seen.push(...sales.map(({ id }) => id));
      if (!next) break;
      cursor = next;
    }
    const all = await db.sql`select id from public.sales where site_id = ${team.siteUuid} order by occurred_at desc, id`;
    expect(seen).toEqual(all.map(({ id }) => id));
  });

  test("is narrowed by status, source and delivery", async () => {
    const call = await newLead(db.sql, team, { gclid: null });
    await change(db.sql, { team }, "seal_call", { id: call, amountCents: 100 });
    expect(new Set((await list({ status: "DRAFT" })).sales.map(({ status }) => status))).toEqual(new Set(["DRAFT"]));
    expect((await list({ source: "desk" })).sales.every(({ externalRef }) => externalRef === null)).toBe(true);
    const never = (await list({ delivery: "never", source: "desk" })).sales;
    expect(never.map(({ callId, delivery }) => [callId, delivery])).toContainEqual([call, { state: "BLOCKED", reason: "NO_CLICK_ID" }]);
    expect((await list({ delivery: "waiting" })).sales.every(({ delivery }) => delivery.state === "QUEUED")).toBe(true);
  });

  // Guarantee: the figures above the list are those of what it shows. Mutations: totals of another filter; the day after `to` counted.
  test("says how many it shows and what they are worth, by search and by day", async () => {
    const at = (day: number) => `${dayAgo(30 - day)}T09:00:00Z`;
    await importRows([
      row(2, { externalRef: "RANGE-1", occurredAt: at(1), amountCents: 100_00 }),
      row(3, { externalRef: "RANGE-2", occurredAt: at(2), amountCents: 250_00 }),
      row(4, { externalRef: "RANGE-3", occurredAt: at(3), amountCents: 70_00 }),
    ]);
    const { sales, totals } = await list({ from: dayAgo(29), to: dayAgo(28), q: "RANGE-" });
    expect(sales.map(({ externalRef }) => externalRef)).toEqual(["RANGE-2", "RANGE-1"]);
    expect(totals?.count).toBe(2);
    const [first] = sales;
    expect((await list({ q: "range-" })).totals?.count).toBe(3);
    expect((await list({ q: first?.orderId })).sales.map(({ id }) => id)).toEqual([first?.id]);
    expect((await list({ q: first?.id })).sales.map(({ id }) => id)).toEqual([first?.id]);
    expect((await list({ q: "%" })).sales).toEqual([]);
  });

  test.each([
    ["oldest", ["SORT-1", "SORT-2", "SORT-3"]],
    ["largest", ["SORT-2", "SORT-1", "SORT-3"]],
    ["smallest", ["SORT-3", "SORT-1", "SORT-2"]],
  ])("is sorted %s first, page by page", async (sort, refs) => {
    const at = (day: number) => `${dayAgo(20 - day)}T09:00:00Z`;
    await importRows([
      row(2, { externalRef: "SORT-1", occurredAt: at(1), amountCents: 100_00 }),
      row(3, { externalRef: "SORT-2", occurredAt: at(2), amountCents: 250_00 }),
      row(4, { externalRef: "SORT-3", occurredAt: at(3), amountCents: 70_00 }),
    ]);
    const seen: (string | null)[] = [];
    for (let cursor: string | null = null, turn = 0; turn < 5; turn++) {
      const page: Awaited<ReturnType<typeof list>> = await list({ q: "SORT-", sort, limit: 1, ...(cursor && { cursor }) });
      seen.push(...page.sales.map(({ externalRef }) => externalRef));
      if (!page.next) break;
      cursor = page.next;
    }
    expect(seen).toEqual(refs);
  });

  // Guarantee: a sale leads to its lead, its conversion and its receipt.
  test("names the lead, the conversion and the last proof of each sale", async () => {
    const { id, callId, saleId } = await sealLead(db.sql, team);
    const { sales, totals } = await list({ sale: saleId });
    expect([sales.length, totals?.count]).toEqual([1, 1]);
    await expect(list({ sale: "no-id" })).rejects.toMatchObject({ message: "VALIDATION_FAILED" });
    const sale = sales[0];
    expect(sale).toMatchObject({ callId, rowId: id });
    const [proof] =
      await db.sql`select facts ->> 'saleId' as sale_id, to_state from public.transition_proofs where id = ${String(sale?.proofId)}`;
    expect(proof).toMatchObject({ sale_id: saleId, to_state: "sealed" });
  });

  // Guarantee: a viewer, who sees four digits of a number, does not find out the others by searching. Mutation: $7 left out.
  test("viewers do not find notes, names or longer numbers", async () => {
    const callId = await newLead(db.sql, team, { phone: "+905551239876" });
    await change(db.sql, { team }, "seal_call", { id: callId, amountCents: 100, note: "Quiet boiler, ISITICI" });
    const find = async (q: string, person = team.viewer) =>
      salesPage.parse(await callAs(db.sql, person, (tx) => tx`select public.list_sales(${team.siteId}, ${tx.json({ q })})`)).sales.length;
    // Spaces, as people write numbers: bare digits may also be part of an order id.
    expect([await find("quiet boiler"), await find("3 98 76"), await find("98 76")]).toEqual([0, 0, 1]);
    expect([await find("quiet boiler", team.operator), await find("3 98 76", team.operator)]).toEqual([1, 1]);
    expect([await find("ısıtıcı", team.operator), await find("isitici", team.operator), await find("isitici")]).toEqual([1, 1, 0]);
  });
});

describe("the routes", () => {
  const call = (
    route: typeof importRoute,
    who: string | undefined,
    {
      method = "POST",
      siteId = team.siteId,
      ...more
    }: { method?: string; siteId?: SiteId; body?: unknown; path?: string; params?: Record<string, string> } = {},
  ) => send(route, { method, headers: fromOurPage(who && cookies[who]), ...more, params: { siteId, ...more.params } });

  test.each([
    ["import", importRoute, "POST", { rows: [{ line: 2 }] }, 403],
    ["confirm", confirmRoute, "POST", {}, 403],
    ["sales", salesRoute, "GET", undefined, 200],
    ["activity", activityRoute, "GET", undefined, 200],
  ] as const)("%s: nobody is 401, a stranger 404, a viewer as they may", async (_name, route, method, body, viewer) => {
    const params = { saleId: randomUUID() };
    const given = { method, params, ...(body && { body }) };
    expect((await call(route, undefined, given)).status).toBe(401);
    expect((await call(route, "outsider", given)).status).toBe(404);
    expect((await call(route, "viewer", given)).status).toBe(viewer);
  });

  test("an operator imports and seals; bad bodies are 400", async () => {
    const imported = await call(importRoute, "operator", { body: { rows: [row(2)] } });
    const { results } = await imported.json();
    expect(results).toMatchObject([{ line: 2, result: "created" }]);
    const confirmed = await call(confirmRoute, "operator", { params: { saleId: results[0].saleId }, body: { expectedVersion: 1 } });
    expect([confirmed.status, await confirmed.json()]).toMatchObject([200, { from: "DRAFT", to: "CONFIRMED" }]);
    expect((await call(importRoute, "operator", { body: { rows: [] } })).status).toBe(400);
    expect((await call(importRoute, "operator", { body: { rows: [{ line: { a: 1 } }] } })).status).toBe(400);
  });

  // Guarantee: a file of ours does not run somebody's formula on the bookkeeper's machine.
  test("an exported note that looks like a formula is made inert", async () => {
    await importRows([row(2, { note: '=HYPERLINK("http://evil.test")', externalRef: "@SUM(A1)" })]);
    const response = await call(salesRoute, "operator", { method: "GET", path: `/api/sites/${team.siteId}/sales?source=elsewhere` });
    const cells = parseCsv(await response.text()).flat();
    expect(cells).toContain('\'=HYPERLINK("http://evil.test")');
    expect(cells).toContain("'@SUM(A1)");
    expect(cells.filter((cell) => /^[=+@]/.test(cell))).toEqual([]);
  });
});
