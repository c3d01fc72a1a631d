import { randomUUID } from "node:crypto";
import { GET as proofRoute } from "#app/v1/contract/proofs/[proofId]/route.ts";
import { POST as transitionRoute } from "#app/v1/contract/transition/route.ts";
import { type ApiKey, createKey } from "#tests/fixtures/site.ts";
import { createTeam, handOver, type Person, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv as setAppEnv } from "./app-env.ts";
import { cookiesOf, fromOurPage, send } from "./requests.ts";
import { createTestDatabase, type TestDatabase } from "./test-database.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";

export interface ContractsApp {
  db: TestDatabase;
  gateway: TestGateway;
  env: Record<string, string>;
  team: Team;
  /** Another customer, who shares nobody with the team. */
  other: Team;
  teamKey: ApiKey;
  otherKey: ApiKey;
  stop(): Promise<void>;
}

/** Two customers with a key each, and the routes of contracts pointed at their database. */
export async function startContractsApp(): Promise<ContractsApp> {
  const db = await createTestDatabase();
  const gateway = await startTestGateway(db.adminUrl);
  const env = setAppEnv({ database: db, gateway });
  const team = await createTeam(db.sql, "contracts");
  const other = await handOver(db.sql, await createTeam(db.sql, "elsewhere", team.owner), "owner@stranger.test");
  const [teamKey, otherKey] = [await newKey(db, team), await newKey(db, other)];
  return {
    db,
    gateway,
    env,
    team,
    other,
    teamKey,
    otherKey,
    async stop() {
      await gateway.stop();
      await db.drop();
    },
  };
}

export const newKey = (db: TestDatabase, team: Team): Promise<ApiKey> => createKey(db.sql, team, ["contracts"], { name: "Outbox" });

export interface Answer {
  status: number;
  replayed: boolean;
  text: string;
  body: Record<string, unknown>;
}

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, replayed: response.headers.get("idempotent-replayed") === "true", text, body: JSON.parse(text) };
}

export const withKey = ({ key }: ApiKey) => ({ "x-api-key": key });
export const asPerson = async (gateway: TestGateway, person: Person) => fromOurPage(await cookiesOf(gateway, person));

/** POST /v1/contract/transition as a caller sends it; the key of the request is a new one unless the body or a header has it. */
export async function transition(headers: Record<string, string>, move: Record<string, unknown>): Promise<Answer> {
  const body = { ...(headers["idempotency-key"] === undefined && { idempotency_key: randomUUID() }), ...move };
  return readAnswer(await send(transitionRoute, { path: "/v1/contract/transition", headers, body }));
}

export async function receipt(headers: Record<string, string>, proofId: string): Promise<Answer> {
  return readAnswer(await send(proofRoute, { method: "GET", path: `/v1/contract/proofs/${proofId}`, params: { proofId }, headers }));
}
