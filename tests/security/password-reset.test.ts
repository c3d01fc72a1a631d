import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { mailResetLink } from "#lib/auth/password-reset.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { type RecordingServer, startRecordingServer } from "#tests/support/recording-server.ts";

/** Stands where Auth stands. A request for a link is answered when the test says so. */
let auth: RecordingServer;
let status = 200;
let linkAsked = Promise.withResolvers<string>();
let mailed = Promise.withResolvers<number>();

beforeAll(async () => {
  auth = await startRecordingServer(({ path }) => {
    if (!path.startsWith("/auth/v1/recover")) return status;
    linkAsked.resolve("waited for the mail");
    return mailed.promise;
  });
  const key = "key-of-no-gateway-0123456789abcdef";
  useAppEnv({
    database: { appUrl: "postgres://nobody@localhost:1/none" },
    gateway: { url: auth.url, publishableKey: key, secretKey: key },
  });
});
beforeEach(() => {
  linkAsked = Promise.withResolvers();
  mailed = Promise.withResolvers();
  auth.requests.length = 0;
  status = 200;
});
afterAll(() => auth.stop());

const ask = (later: (work: () => Promise<void>) => void) => mailResetLink("someone@reset.test", new Headers(), later);
const asked = () => auth.requests.map(({ method, path }) => `${method} ${path.split("?")[0]}`);

// Guarantee: how long a reset takes says nothing about who has an account: Auth mails only those. Mutation: `await askForLink(email)`
// instead of `later(…)`.
test("whoever asks for a link, to learn by the time whether an account exists, is answered before Auth is asked about the address", async () => {
  const works: (() => Promise<void>)[] = [];
  const answered = ask((work) => works.push(work)).then(() => "answered");
  expect(await Promise.race([answered, linkAsked.promise])).toBe("answered");
  expect(asked()).toEqual(["GET /auth/v1/settings"]);
  mailed.resolve(200);
  await Promise.all(works.map((work) => work()));
  expect(asked()).toEqual(["GET /auth/v1/settings", "POST /auth/v1/recover"]);
});

test.each([400, 429, 500])("what Auth then says of the address, %i, reaches nobody", async (answer) => {
  mailed.resolve(answer);
  const works: Promise<void>[] = [];
  await ask((work) => works.push(work()));
  await expect(Promise.all(works)).resolves.toEqual([undefined]);
});

test("an outage of Auth is told to everybody", async () => {
  status = 503;
  await expect(ask(() => expect.unreachable())).rejects.toMatchObject({ code: "AUTH_UNAVAILABLE" });
});
