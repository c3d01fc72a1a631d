import { randomUUID } from "node:crypto";
import { globSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPerson, createTeam, type Person, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

/** Its own: other files flood the address of those who name none. */
const address = randomUUID();

/** Who may use a route: anybody, a page with the site's tracker, a machine with its own secret, anybody with an account, or a member in at least this role. */
type Who = "anyone" | "page" | "machine" | "person" | "viewer" | "operator" | "owner";
/** Methods and path of each. A line is added here on purpose, by someone who has thought about who asks. */
const routes: Record<Who, string> = {
  anyone: `
    GET /.well-known/security.txt
    GET,POST,PUT,PATCH,DELETE /api/[...path]
    GET /api/health/ready
    GET /api/health
    GET,POST,PUT,PATCH,DELETE /v1/[...path]`,
  page: `
    POST,OPTIONS /api/sync
    POST,OPTIONS /api/track/pv`,
  machine: `
    POST /api/call-event
    GET,POST /api/cron/billing/freeze-invoices
    GET,POST /api/cron/billing/idempotency-cleanup
    GET,POST /api/cron/billing/reconcile-usage
    GET,POST /api/cron/contracts/idempotency-cleanup
    GET,POST /api/cron/contracts/seal-proofs
    GET,POST /api/cron/ingest/busy-days
    GET,POST /api/cron/ingest/partitions
    GET,POST /api/cron/ingest/recover
    GET,POST /api/cron/invitation-cleanup
    GET,POST /api/cron/oci/attempt-cap
    GET,POST /api/cron/oci/fold-counts
    GET,POST /api/cron/oci/reconcile-counts
    GET,POST /api/cron/privacy/retention
    GET,POST /api/cron/process-offline-conversions
    GET,POST /api/cron/providers/poll-verdicts
    GET,POST /api/cron/providers/recover-processing
    POST /api/cron/providers/seed-credentials
    POST /api/oci/ack-failed
    POST /api/oci/ack
    POST /api/oci/test-answer
    POST /api/oci/v2/verify
    POST /api/sales/confirm
    POST /api/sales
    POST /api/workers/ingest`,
  person: `
    PATCH,DELETE /api/account
    GET /api/google-ads/oauth/callback
    POST /api/invitations/[invitationId]/accept
    POST /api/invitations/[invitationId]/decline
    GET /api/search
    POST /api/sites
    POST /v1/contract/transition`,
  viewer: `
    GET /api/oci/delivery-days
    GET /api/oci/delivery-export
    GET /api/oci/google-ads-export
    GET /api/oci/queue-actions
    GET /api/oci/queue-charts
    GET /api/oci/queue-export
    GET /api/oci/queue-rows/[id]
    GET /api/oci/queue-rows
    GET /api/oci/queue-stats
    GET /api/sites/[siteId]/activity
    GET /api/sites/[siteId]/billing/counted-events
    GET /api/sites/[siteId]/billing/invoices/[yearMonth]
    GET /api/sites/[siteId]/calls/[callId]
    GET /api/sites/[siteId]/calls
    GET /api/sites/[siteId]/google-ads
    GET /api/sites/[siteId]/pause
    GET /api/sites/[siteId]/sales/[saleId]/why-not-counted
    GET /api/sites/[siteId]/sales
    GET /api/sites/[siteId]/version
    GET /v1/contract/proofs/[proofId]`,
  operator: `
    GET /api/sites/[siteId]/billing/origins
    POST /api/oci/queue-actions/[actionId]/undo
    POST /api/oci/queue-actions/preview
    POST /api/oci/queue-actions
    POST /api/oci/queue-rows/[id]/done-by-hand
    POST /api/oci/queue-rows/[id]/send-again
    POST /api/sites/[siteId]/calls/[callId]/notes
    PATCH /api/sites/[siteId]/calls/[callId]
    POST /api/sites/[siteId]/calls/[callId]/seal
    POST /api/sites/[siteId]/calls/[callId]/stage
    POST /api/sites/[siteId]/calls/[callId]/undo
    POST /api/sites/[siteId]/failed-events/replay
    POST /api/sites/[siteId]/sales/[saleId]/cancel
    POST /api/sites/[siteId]/sales/[saleId]/confirm
    POST /api/sites/[siteId]/sales/[saleId]/correct
    POST /api/sites/[siteId]/sales/[saleId]/undo
    POST /api/sites/[siteId]/sales/import`,
  owner: `
    DELETE,PATCH /api/sites/[siteId]/api-keys/[keyId]
    POST /api/sites/[siteId]/api-keys
    POST,DELETE /api/sites/[siteId]/archive
    PATCH /api/sites/[siteId]/billing/lead-share
    POST /api/sites/[siteId]/call-event-secret
    PATCH /api/sites/[siteId]/ceilings
    PATCH /api/sites/[siteId]/delivery
    POST /api/sites/[siteId]/domains
    POST /api/sites/[siteId]/google-ads/actions/available
    POST /api/sites/[siteId]/google-ads/actions
    POST /api/sites/[siteId]/google-ads/connect
    POST /api/sites/[siteId]/google-ads/disconnect
    POST /api/sites/[siteId]/google-ads/dry-run
    GET /api/sites/[siteId]/google-ads/oauth/start
    POST /api/sites/[siteId]/google-ads/rotate
    POST /api/sites/[siteId]/google-ads/switch
    POST /api/sites/[siteId]/google-ads/test-conversion
    POST /api/sites/[siteId]/google-ads/test
    DELETE /api/sites/[siteId]/invitations/[invitationId]
    PATCH,DELETE /api/sites/[siteId]/members/[userId]
    POST /api/sites/[siteId]/members
    POST,DELETE /api/sites/[siteId]/pause
    POST /api/sites/[siteId]/privacy/erase
    POST /api/sites/[siteId]/privacy/export
    POST /api/sites/[siteId]/privacy/preview
    PATCH /api/sites/[siteId]/privacy/retention
    GET,PATCH /api/sites/[siteId]/privacy
    PATCH /api/sites/[siteId]/setup/calls
    PATCH /api/sites/[siteId]`,
};

const lines = Object.entries(routes).flatMap(([who, text]) =>
  text
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [methods = "", path = ""] = line.trim().split(" ");
      return methods.split(",").map((method): [string, Who] => [`${method} ${path}`, who as Who]); // a key of routes
    }),
);

type Handler = Parameters<typeof send>[0];
interface Found {
  line: string;
  method: string;
  path: string;
  run: Handler;
}

/** Every method of every route file. */
async function findRoutes(): Promise<Found[]> {
  const found: Found[] = [];
  for (const file of globSync(["app/**/route.ts", "app/.well-known/**/route.ts"]).toSorted()) {
    const module: Record<string, unknown> = await import(/* @vite-ignore */ `../../${file}`);
    const path = `/${file.split("/").slice(1, -1).join("/")}`;
    for (const [method, run] of Object.entries(module))
      if (typeof run === "function") found.push({ line: `${method} ${path}`, method, path, run: run as Handler }); // handler() built it: handler.test.ts
  }
  // The one that ends who asks comes last.
  return found.toSorted((one, other) => Number(one.path === "/api/account") - Number(other.path === "/api/account"));
}

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
let cookies: Record<string, string>;
let found: Found[];
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
  team = await createTeam(db.sql, "routes");
  const { viewer, operator, owner } = team;
  const people: Record<string, Person> = { stranger: await createPerson(db.sql, "stranger@routes.test"), viewer, operator, owner };
  cookies = { nobody: "" };
  for (const [who, person] of Object.entries(people)) cookies[who] = await cookiesOf(gateway, person);
  found = await findRoutes();
}, 120_000);
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

/** The status of a request that names the team's site everywhere a route may look, with a body that nobody takes. */
async function statusFor({ method, path, run }: Found, who: string): Promise<number> {
  const names = [...path.matchAll(/\[(\w+)\]/g)].map(([, name = ""]) => name);
  const params = Object.fromEntries(names.map((name) => [name, name === "siteId" ? team.siteId : "00000000-0000-4000-8000-000000000000"]));
  const query = `?siteId=${team.siteId}`;
  const body = ["GET", "HEAD", "OPTIONS"].includes(method) ? undefined : { siteId: team.siteId, nobody: "takes this" };
  const response = await send(run, {
    method,
    path: path.replace("[siteId]", team.siteId) + query,
    params,
    body,
    headers: { ...fromOurPage(cookies[who]), "x-forwarded-for": address },
  });
  await response.body?.cancel();
  return response.status;
}

const refused = [401, 403];
const expectations: Record<Who, (status: Record<string, number>) => boolean> = {
  anyone: (status) => Object.values(status).every((each) => !refused.includes(each)),
  // Cookies open nothing there; gate-refusals.test.ts has what does.
  page: (status) => new Set(Object.values(status)).size === 1 && status.owner !== 200,
  machine: (status) => Object.values(status).every((each) => each === 401),
  person: ({ nobody, ...signedIn }) => nobody === 401 && Object.values(signedIn).every((each) => !refused.includes(each)),
  viewer: ({ nobody, stranger, ...members }) =>
    nobody === 401 && stranger === 404 && Object.values(members).every((each) => !refused.includes(each)),
  operator: ({ nobody, stranger, viewer, ...others }) =>
    nobody === 401 && stranger === 404 && viewer === 403 && Object.values(others).every((each) => !refused.includes(each)),
  owner: ({ nobody, stranger, viewer, operator, owner = 0 }) =>
    nobody === 401 && stranger === 404 && viewer === 403 && operator === 403 && !refused.includes(owner),
};

describe("routes", () => {
  test("every method of every route has a line, and no line is left over", () => {
    expect(found.map(({ line }) => line).toSorted()).toEqual(lines.map(([line]) => line).toSorted());
  });

  // Guarantee: a route that is opened to more people than its line says is noticed. Mutation: siteMember("viewer") in any owner's route.
  test("each answers nobody, a stranger and every role as its line says", async () => {
    const whoOf = new Map(lines);
    const wrong: Record<string, Record<string, number>> = {};
    for (const route of found) {
      const status: Record<string, number> = {};
      for (const who of Object.keys(cookies)) status[who] = await statusFor(route, who);
      if (!expectations[whoOf.get(route.line) ?? "owner"](status)) wrong[route.line] = status;
    }
    expect(wrong).toEqual({});
  }, 600_000);
});
