import { type AddressInfo, createServer } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { postgresTransport } from "#lib/db/postgres-transport.ts";
import { supabaseTransport } from "#lib/db/supabase-transport.ts";
import type { RpcTransport } from "#lib/db/transport.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

/** Functions that only this suite has: one gives back what it got, one fails as told. Granted as service functions are. */
const probes = `
create function public.contract_echo(p_text text default null, p_uuid uuid default null, p_bigint bigint default null,
  p_numeric numeric default null, p_boolean boolean default null, p_at timestamptz default null, p_date date default null,
  p_json jsonb default null, p_texts text[] default null, p_uuids uuid[] default null) returns jsonb
language sql security definer set search_path = '' as $$
  select jsonb_build_object('text', p_text, 'uuid', p_uuid, 'bigint', p_bigint, 'numeric', p_numeric, 'boolean', p_boolean,
    'at', p_at, 'date', p_date, 'json', p_json, 'json_type', jsonb_typeof(p_json), 'texts', p_texts, 'uuids', p_uuids) $$;
create function public.contract_fail(p_status int, p_code text) returns jsonb
language plpgsql security definer set search_path = '' as $$
  begin perform private.fail(p_status, p_code, '{"left": 3}'); return null; end $$;
create function public.contract_null() returns jsonb language sql set search_path = '' as $$ select null::jsonb $$;
create function public.contract_ungranted() returns jsonb language sql set search_path = '' as $$ select '{}'::jsonb $$;
create function public.contract_sleep() returns jsonb language sql set search_path = '' as $$ select to_jsonb(pg_sleep(20)::text) $$;
grant execute on function public.contract_echo, public.contract_fail, public.contract_null, public.contract_sleep to opsmantik_app, service_role;`;

/** What a Postgres says before it is asked anything. */
const authenticationOk = [0x52, 0, 0, 0, 8, 0, 0, 0, 0];
const readyForQuery = [0x5a, 0, 0, 0, 5, 0x49];

let db: TestDatabase;
let gateway: TestGateway;
const transports: Record<string, RpcTransport> = {};

beforeAll(async () => {
  db = await createTestDatabase();
  await db.sql.unsafe(probes);
  gateway = await startTestGateway(db.adminUrl);
  transports.postgres = postgresTransport({ url: db.appUrl });
  transports["postgres as through the transaction pooler"] = postgresTransport({ url: db.appUrl, prepare: false });
  transports.supabase = supabaseTransport({ url: gateway.url, secretKey: gateway.secretKey });
});
afterEach(() => void vi.restoreAllMocks());
afterAll(async () => {
  for (const transport of Object.values(transports)) await transport.close();
  await gateway.stop();
  await db.drop();
});

const uuid = "0190b5a8-3f5c-7c1e-8a34-5f0f1c2d3e4f";
const given = {
  p_text: 'Çağrı ‘mühür’ 🙂 \\ " ; --',
  p_uuid: uuid,
  p_bigint: 9_007_199_254_740_991,
  p_numeric: 12.5,
  p_boolean: false,
  p_at: "2026-03-29T00:30:00.123456+03:00",
  p_date: "2026-02-28",
  p_json: { list: [1, "iki", null, { deep: true }], empty: {}, text: "{not json" },
  p_texts: ["a,b", 'with "quotes"', ""],
  p_uuids: [uuid],
};

// Guarantee: a deployment may switch its transport and no caller notices. The postgres driver serves Vercel's pooler too.
describe.each(["postgres", "postgres as through the transaction pooler", "supabase"])("the service door over %s", (name) => {
  const call = (fn: string, args: Record<string, unknown> = {}) => (transports[name] as RpcTransport).call(fn, args);

  test("gives every type back as the same JSON", async () => {
    expect(await call("contract_echo", given)).toEqual({
      text: given.p_text,
      uuid,
      bigint: 9_007_199_254_740_991,
      numeric: 12.5,
      boolean: false,
      at: "2026-03-28T21:30:00.123456+00:00",
      date: "2026-02-28",
      json: given.p_json,
      json_type: "object",
      texts: given.p_texts,
      uuids: [uuid],
    });
  });

  test("leaves out arguments that are undefined, so that SQL's defaults hold", async () => {
    expect(await call("contract_echo", { p_text: undefined, p_json: [1, 2] })).toMatchObject({
      text: null,
      json: [1, 2],
      json_type: "array",
    });
  });

  test("gives null for null", async () => {
    expect(await call("contract_null")).toBeNull();
  });

  test("passes our own codes whole, with their status and facts", async () => {
    await expect(call("contract_fail", { p_status: 409, p_code: "SITE_ARCHIVED" })).rejects.toMatchObject({
      code: "SITE_ARCHIVED",
      status: 409,
      facts: { extra: { left: 3 } },
    });
  });

  test("calls what the schema refuses a validation error", async () => {
    await expect(call("contract_echo", { p_text: "a\0b" })).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
    await expect(call("contract_echo", { p_uuid: "no-uuid" })).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  });

  test("is refused at a function that was not granted", async () => {
    await expect(call("contract_ungranted")).rejects.toThrow();
  });
});

test("both transports call a stopped server unavailable, not broken", async () => {
  const nowhere = {
    postgres: postgresTransport({ url: "postgresql://x:y@127.0.0.1:1/z" }),
    supabase: supabaseTransport({ url: "http://127.0.0.1:1", secretKey: "k" }),
  };
  for (const transport of Object.values(nowhere)) {
    await expect(transport.call("contract_null", {})).rejects.toMatchObject({ code: "DATABASE_UNAVAILABLE", status: 503 });
    await transport.close();
  }
});

// Guarantee: how long a server has been away says nothing about how long a caller waits. In one pool the driver's own pauses (up to
// 20 s after the seventh failure) make these calls take over a minute.
test("a server that stays away is called unavailable at once, the twelfth time as the first", { timeout: 30_000 }, async () => {
  const away = postgresTransport({ url: "postgresql://x:y@127.0.0.1:1/z", poolMax: 1 });
  for (let call = 0; call < 12; call += 1) {
    await expect(away.call("contract_null", {})).rejects.toMatchObject({ code: "DATABASE_UNAVAILABLE" });
  }
  await away.close();
});

/** Ends the app's connections, and waits until their backends are gone: a signal is sent before it is heard. */
async function cutConnections(): Promise<void> {
  const ended = await db.sql`select pid, pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'opsmantik' and datname = current_database()`;
  while ((await db.sql`select from pg_stat_activity where pid = any (${ended.map(({ pid }) => pid)})`).length > 0);
}

// Guarantee: whenever a connection goes, the next call after it has gone gets a good one. In one pool the driver keeps a connection that
// closed while a query was being written to it, and every query it gets from then on waits until it is given up.
test("a connection that is cut in the middle of calls is not used again", async () => {
  const transport = postgresTransport({ url: db.appUrl, poolMax: 1 });
  for (let round = 0; round < 30; round += 1) {
    await transport.call("contract_null", {});
    const cut = cutConnections();
    let isCut = false;
    cut.then(() => (isCut = true));
    const calls: Promise<unknown>[] = [];
    const callAgain = () => calls.push(transport.call("contract_null", {}).catch((error) => error.code));
    for (let tick = 0; tick < 200 || !isCut; tick += 1) {
      callAgain();
      await new Promise(setImmediate);
    }
    callAgain(); // certainly after the cut: what comes after it knows that the connection is gone
    await cut;
    for (const outcome of await Promise.all(calls)) expect([null, "DATABASE_UNAVAILABLE"]).toContain(outcome);
  }
  expect(await transport.call("contract_null", {})).toBeNull();
  await transport.close();
});

// Guarantee: a database that restarts ends calls, never the process. Seen in a worker: an error that nobody could catch.
// Mutation that breaks it: let the driver ask for array types.
test("a connection that is lost at its first question fails the call and nothing else", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  let questions = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(Buffer.from([...authenticationOk, ...readyForQuery]));
      socket.on("data", () => {
        questions += 1;
        socket.destroy();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  const transport = postgresTransport({ url: `postgresql://x:y@127.0.0.1:${port}/z`, poolMax: 1 });
  for (let call = 0; call < 5; call++)
    await expect(transport.call("contract_null", {})).rejects.toMatchObject({ code: "DATABASE_UNAVAILABLE" });
  await new Promise(setImmediate);
  await transport.close();
  server.close();
  process.off("unhandledRejection", note);
  expect(questions).toBeGreaterThan(0);
  expect(unhandled).toEqual([]);
});

// Mutation that breaks it: let the query run without its deadline.
test("a call that takes longer than its deadline is called unavailable, and the next one is answered", async () => {
  const deadlineMs = 14_321; // known by its number among all timers; it passes when the test says so
  const timers = vi.spyOn(globalThis, "setTimeout");
  const transport = postgresTransport({ url: db.appUrl, poolMax: 1, deadlineMs });
  const late = transport.call("contract_sleep", {}).catch((error) => error);
  const sleeping = () =>
    db.sql`select pid from pg_stat_activity where query like '%contract_sleep%' and state = 'active' and pid <> pg_backend_pid()`;
  while ((await sleeping()).length === 0);
  const [passDeadline] = timers.mock.calls.find(([, ms]) => ms === deadlineMs) ?? [];
  if (!passDeadline) throw new Error("The call has no deadline.");
  passDeadline();
  expect(await late).toMatchObject({ code: "DATABASE_UNAVAILABLE" });
  expect(await transport.call("contract_null", {})).toBeNull();
  for (const { pid } of await sleeping()) await db.sql`select pg_terminate_backend(${pid})`;
  await transport.close();
});
