import { createServer } from "node:http";
import { POST as ackRoute } from "#app/api/oci/ack/route.ts";
import { POST as ackFailedRoute } from "#app/api/oci/ack-failed/route.ts";
import { GET as exportRoute } from "#app/api/oci/google-ads-export/route.ts";
import { POST as testAnswerRoute } from "#app/api/oci/test-answer/route.ts";
import { POST as verifyRoute } from "#app/api/oci/v2/verify/route.ts";
import { closeServer, listenLocal, readBody } from "#scripts/local/process/local-server.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { createKey, createSite, deliverySettings, sendAtOnce } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv as setAppEnv } from "./app-env.ts";
import { send } from "./requests.ts";
import { createTestDatabase, type TestDatabase } from "./test-database.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { waitForRedis } from "./wait-for-redis.ts";

/** A site whose owner does everybody's work, with a key for its script. */
export interface OciSite extends Team {
  key: string;
  keyId: string;
}

export interface OciApp {
  db: TestDatabase;
  /** Only of an app that was started `withGateway`. */
  readonly gateway: TestGateway;
  env: Record<string, string>;
  owner: Person;
  newSite(options?: { syncMethod?: "script" | "api"; settings?: Record<string, unknown> }): Promise<OciSite>;
  verify(body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** A session for the site's script. */
  session(site: OciSite): Promise<string>;
  exportRows(site: OciSite, token: string, isMarking?: boolean): Promise<Response>;
  ack(site: OciSite, token: string, queueIds: string[], more?: Record<string, unknown>): Promise<Response>;
  ackFailed(site: OciSite, token: string, body: { queueIds: string[]; [more: string]: unknown }): Promise<Response>;
  stop(): Promise<void>;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}`, "x-opsmantik-script-version": "1.0.0" });

interface OciAppOptions {
  redisRest?: { url: string; token: string };
  withGateway?: boolean;
}

/** The script's routes on a database of their own. */
export async function startOciApp({ redisRest, withGateway = false }: OciAppOptions = {}): Promise<OciApp> {
  const db = await createTestDatabase();
  const gateway = withGateway ? await startTestGateway(db.adminUrl) : undefined;
  const env = setAppEnv({ database: db, ...(gateway && { gateway }), ...(redisRest && { redisRest }) });
  const owner = await createPerson(db.sql, "owner@oci.test");
  const verify: OciApp["verify"] = (body, headers = {}) => {
    waitForRedis();
    return send(verifyRoute, { path: "/api/oci/v2/verify", body, headers });
  };
  return {
    db,
    get gateway() {
      if (!gateway) throw new Error("The app was started without a gateway.");
      return gateway;
    },
    env,
    owner,
    newSite: (options) => newSite(db, owner, options),
    verify,
    async session(site) {
      const response = await verify({ siteId: site.siteId }, { "x-api-key": site.key });
      const { session_token } = await response.json();
      return session_token;
    },
    exportRows: (site, token, isMarking = true) =>
      send(exportRoute, {
        method: "GET",
        path: `/api/oci/google-ads-export?siteId=${site.siteId}&markAsExported=${isMarking}`,
        headers: bearer(token),
      }),
    ack: (site, token, queueIds, more = {}) =>
      send(ackRoute, { path: "/api/oci/ack", body: { siteId: site.siteId, queueIds, ...more }, headers: bearer(token) }),
    ackFailed: (site, token, body) =>
      send(ackFailedRoute, { path: "/api/oci/ack-failed", body: { siteId: site.siteId, ...body }, headers: bearer(token) }),
    async stop() {
      await gateway?.stop();
      await db.drop();
    },
  };
}

let sitesMade = 0;

async function newSite(
  db: TestDatabase,
  owner: Person,
  { syncMethod = "script", settings = {} }: Parameters<OciApp["newSite"]>[0] = {},
): Promise<OciSite> {
  const made = await createSite(db.sql, owner, { name: `oci-${++sitesMade}`, syncMethod });
  const { id: keyId, key } = await createKey(db.sql, { ...made, owner });
  const site = { ...made, owner, operator: owner, viewer: owner, key, keyId };
  await deliverySettings(db.sql, site, { ...sendAtOnce, ...settings });
  if (syncMethod === "api") await connectApi(db.sql, site);
  return site;
}

const routes: Record<string, Parameters<typeof send>[0]> = {
  "/api/oci/v2/verify": verifyRoute,
  "/api/oci/google-ads-export": exportRoute,
  "/api/oci/ack": ackRoute,
  "/api/oci/ack-failed": ackFailedRoute,
  "/api/oci/test-answer": testAnswerRoute,
};

/** The same routes behind a real HTTP server, for whoever speaks HTTP. */
export async function serveOciRoutes(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const body = (await readBody(request)).toString("utf8");
    const { pathname } = new URL(request.url ?? "", "http://local");
    const route = routes[pathname];
    if (!route) return response.writeHead(404).end();
    const { connection: _connection, "content-length": _length, ...headers } = request.headers;
    const answer = await send(route, {
      method: request.method ?? "GET",
      path: request.url ?? "",
      headers: headers as Record<string, string>, // no header of a script comes twice
      ...(request.method === "POST" && { body }),
    });
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  return { url: await listenLocal(server, "the script's routes"), stop: () => closeServer(server) };
}
