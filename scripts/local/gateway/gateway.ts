/** PostgREST and Auth for the embedded stack: @supabase/lite on our Postgres, reached with supabase-js as usual. */
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import { createAdaptorServer } from "@hono/node-server";
import { App } from "@supabase/lite";
import { createPostgresConnection } from "@supabase/lite/postgres";
import { closeServer, listenLocal } from "../process/local-server.ts";
import { checkoutDir } from "../process/state-dir.ts";
import { printingTo } from "./gateway-log.ts";
import { gatewayTypes } from "./gateway-types.ts";
import { createMailbox, type Mailbox, mailboxPage } from "./mailbox.ts";
import { askingPresentPassword } from "./present-password.ts";

export interface GatewayOptions {
  /** The owner's URL: as another role the gateway would see no tables. */
  databaseUrl: string;
  /** Where links in mails lead. */
  siteUrl: string;
  keys: { jwtSecret: string; publishableKey: string; secretKey: string };
  logPath: string;
}

export interface PreparedGateway {
  /** Tables and functions made after the first request are unknown until this is called. */
  clearSchemaCache(): void;
  listen(port?: number): Promise<Gateway>;
  stop(): Promise<void>;
}

export interface Gateway extends Pick<PreparedGateway, "clearSchemaCache" | "stop"> {
  url: string;
  mailUrl: string;
  publishableKey: string;
  secretKey: string;
  mailbox: Mailbox;
}

const authHelpers = readFileSync(join(import.meta.dirname, "auth-helpers.sql"), "utf8");
const template = (file: string, subject: string) => ({
  subject,
  content_path: join(checkoutDir, "supabase/templates", file),
});

/** The driver never answers a query that is written at the moment Postgres goes down. */
async function withinDeadline(answer: Response | Promise<Response>): Promise<Response> {
  const { promise: late, resolve } = Promise.withResolvers<Response>();
  const timer = setTimeout(() => resolve(Response.json({ message: "The database did not answer." }, { status: 503 })), 5_000);
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

/** Creates the auth schema. Migrations come next, because they refer to auth.users; then `listen`. */
export async function prepareGateway({ databaseUrl, siteUrl, keys, logPath }: GatewayOptions): Promise<PreparedGateway> {
  const connection = createPostgresConnection({
    url: databaseUrl,
    postgresOptions: {
      max: 10,
      onnotice: () => {},
      types: gatewayTypes,
      // Two faults of postgres.js 3.4.9, which lib/db/postgres-transport.ts meets in its own way. Each failed connection makes the next
      // wait longer, up to 20 s. And one that closes while a query is being written to it writes nothing more, unless 1,024 bytes come at once.
      backoff: () => 0.2,
      connection: { "opsmantik.long_greeting": ".".repeat(1024) },
    },
  });
  // Left alone, the gateway looks once whether any table has RLS. It then either never switches roles, or grants ALL
  // on all tables to anon. "active" makes it switch always and grant nothing. The field is private in its types.
  Object.assign(connection, { rlsState: "active" });
  const mailbox = createMailbox(async (email) => {
    const [account] = await connection.driver`select raw_user_meta_data as data from auth.users where email = ${email.toLowerCase()}`;
    return account?.data ?? {};
  });
  const app = new App({
    connection,
    auth: {
      enabled: true,
      site_url: siteUrl,
      jwt_secret: keys.jwtSecret,
      publishable_key: keys.publishableKey,
      secret_key: keys.secretKey,
      // As supabase/config.toml has it for hosted.
      minimum_password_length: 10,
      refresh_token_reuse_interval: 10,
      sessions: { inactivity_timeout: "720h" },
      email: {
        enable_confirmations: true,
        secure_password_change: true, // read by hosted Supabase only; present-password.ts asks here
        template: {
          recovery: template("recovery.html", "Reset your OpsMantik password"),
          magic_link: template("magic-link.html", "Sign in to OpsMantik"),
          confirmation: template("confirmation.html", "Confirm your OpsMantik address"),
        },
      },
    },
    options: { server: { disableStudio: true }, drivers: { email: mailbox } },
  });
  await printingTo(logPath, async () => {
    await app.init();
    await app.ensureSystemSchema();
    await connection.driver.unsafe(authHelpers).simple();
  });
  if (app.adminMode) throw new Error("The gateway is in admin mode, where a request without a key is the service role.");

  // One for all requests: it remembers which sessions came by a link.
  const peers = new WeakMap<Request, string | null>();
  const ask = askingPresentPassword(async (request) => app.fetch(request, { peerAddress: peers.get(request) ?? null }));
  const server = createAdaptorServer({
    fetch: (request, bindings) => {
      const url = new URL(request.url);
      // Mails hold sign-in links: a page elsewhere must not reach them by giving this address another name.
      if (url.pathname === "/mail" && ["localhost", "127.0.0.1"].includes(url.hostname)) return mailResponse(mailbox, url);
      peers.set(request, "incoming" in bindings ? (bindings.incoming.socket.remoteAddress ?? null) : null);
      return withinDeadline(printingTo(logPath, () => ask(request)));
    },
  }) as Server; // its type allows HTTP/2 servers, which are made only on request
  const clearSchemaCache = () => connection.clearSchemaCache();
  const stop = async () => {
    await closeServer(server);
    await connection.close();
  };
  return {
    clearSchemaCache,
    stop,
    async listen(port) {
      clearSchemaCache();
      const url = await listenLocal(server, "Supabase gateway", port);
      const { publishableKey, secretKey } = keys;
      return { url, mailUrl: `${url}/mail`, publishableKey, secretKey, mailbox, clearSchemaCache, stop };
    },
  };
}

function mailResponse(mailbox: Mailbox, url: URL): Response {
  if (url.searchParams.get("format") === "json") return Response.json(mailbox.mails());
  return new Response(mailboxPage(mailbox.mails()), { headers: { "content-type": "text/html; charset=utf-8" } });
}
