import { randomBytes } from "node:crypto";
import type postgres from "postgres";
import type { Credentials } from "#lib/providers/credentials.ts";
import type { ConversionJob, Provider, ProviderConnection, Upload, UploadResult } from "#lib/providers/port.ts";
import { type ConnectionOptions, connectApi } from "#tests/fixtures/connections.ts";
import { type Sealed, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv as setAppEnv } from "./app-env.ts";
import { createTestDatabase, type TestDatabase } from "./test-database.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";

/** The worker runs by the real clock, so what it delivers was sealed an hour ago. */
export const anHourAgo = () => new Date(Date.now() - 3_600_000);

export const testCredentials: Credentials = {
  customer_id: "1234567890",
  client_id: "client-of-tests",
  client_secret: "client-secret-of-tests",
  refresh_token: "refresh-token-of-tests",
  conversion_action_resource_name: "customers/1234567890/conversionActions/1",
  transport: "data_manager",
};

export interface DeliveryApp {
  db: TestDatabase;
  sql: postgres.Sql;
  /** Only of an app that was started `withGateway`. */
  readonly gateway: TestGateway;
  env: Record<string, string>;
  owner: Person;
  /** A site that sends by API, connected with credentials that open. */
  newSite(options?: ConnectionOptions): Promise<Team>;
  /** New credentials for a site, as its owner gives them. */
  connect(team: Team, options?: ConnectionOptions & { credentials?: Credentials }): Promise<void>;
  seal(team: Team, count?: number): Promise<Sealed[]>;
  stop(): Promise<void>;
}

/** The worker's surroundings on a database of its own. More variables are set before anything reads the environment. */
export async function startDeliveryApp({
  redisRest,
  variables = {},
  withGateway = false,
}: {
  redisRest?: { url: string; token: string };
  variables?: Record<string, string>;
  withGateway?: boolean;
} = {}): Promise<DeliveryApp> {
  const db = await createTestDatabase();
  const gateway = withGateway ? await startTestGateway(db.adminUrl) : undefined;
  const env = setAppEnv({ database: db, ...(gateway && { gateway }), ...(redisRest && { redisRest }) });
  Object.assign(process.env, variables);
  const owner = await createPerson(db.sql, "owner@delivery.test");
  const connect: DeliveryApp["connect"] = async (team, { credentials = testCredentials, ...options } = {}) => {
    const { sealCredentials } = await import("#lib/providers/credentials.ts");
    await connectApi(db.sql, team, { ...options, ...sealCredentials(credentials, team.siteUuid, "google_ads") });
  };
  return {
    db,
    sql: db.sql,
    get gateway() {
      if (!gateway) throw new Error("The app was started without a gateway.");
      return gateway;
    },
    env: { ...env, ...variables },
    owner,
    connect,
    async newSite(options) {
      const team = await createQueueTeam(db.sql, `site-${randomBytes(4).toString("hex")}`, owner, "api");
      await connect(team, options);
      return team;
    },
    async seal(team, count = 1) {
      const sealed: Sealed[] = [];
      for (let made = 0; made < count; made++) sealed.push(await sealLead(db.sql, team, { at: anHourAgo() }));
      return sealed;
    },
    async stop() {
      await gateway?.stop();
      await db.drop();
      for (const name of Object.keys(variables)) delete process.env[name];
    },
  };
}

export interface ScriptedProvider extends Provider {
  /** Each upload's jobs, in the order in which they came. */
  uploads: { jobs: ConversionJob[]; connection: ProviderConnection }[];
}

type Answer = (jobs: ConversionJob[], connection: ProviderConnection, signal?: AbortSignal) => Promise<Upload> | Upload;

export const accepted = ({ id, via }: ConversionJob, requestId = "request-1"): UploadResult => ({
  id,
  status: "COMPLETED",
  transport: via,
  requestId,
});

/** An ad platform that answers as it is told. */
export function scriptedProvider(answer: Answer = (jobs) => ({ results: jobs.map((job) => accepted(job)) })): ScriptedProvider {
  const uploads: ScriptedProvider["uploads"] = [];
  const notAsked = () => Promise.reject(new Error("Nobody asks for this here."));
  return {
    uploads,
    async uploadConversions(jobs, connection, signal) {
      uploads.push({ jobs, connection });
      return answer(jobs, connection, signal);
    },
    readVerdicts: notAsked,
    testConnection: notAsked,
    listConversionActions: notAsked,
    validateConversion: notAsked,
  };
}

/** The ledger of attempts of a site: [STARTED, FINISHED] of each batch, in order. */
export function readAttempts(sql: postgres.Sql, team: Team) {
  return sql`select batch_id, phase, claimed_count, completed_count, failed_count, retry_count, provider_request_id, error_code, error_category
    from public.provider_upload_attempts where site_id = ${team.siteUuid} order by id`;
}
