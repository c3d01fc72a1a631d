import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { NextRequest } from "next/server";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { POST as createSiteRoute } from "#app/api/sites/route.ts";
import { sessionClient } from "#lib/db/session-client.ts";
import { createPerson, password } from "#tests/fixtures/team.ts";
import { appOrigin, useAppEnv } from "#tests/support/app-env.ts";
import { send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";
import proxy from "../../proxy.ts";

let db: TestDatabase;
let gateway: TestGateway;
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

const host = new URL(appOrigin).host;
const foreign: [string, Record<string, string>][] = [
  ["the same host over http", { origin: `http://${host}`, host }],
  ["another port of the same host", { origin: `https://${host}:8443`, host }],
  ["a subdomain", { origin: `https://evil.${host}`, host }],
  ["a name that begins alike", { origin: `${appOrigin}.evil.test`, host }],
  ["a sandboxed frame", { origin: "null", host }],
  ["a page that does not say where it is", { host }],
  ["our origin, by a browser that says it was another site", { origin: appOrigin, host, "sec-fetch-site": "same-site" }],
];

// Guarantee: nobody else's page changes anything with a visitor's cookies. Mutation: compare hosts instead of origins.
describe("a change", () => {
  test.each(foreign)("from %s is refused by routes and by pages", async (_from, headers) => {
    const response = await send(createSiteRoute, { body: {}, headers });
    expect([response.status, (await response.json()).code]).toEqual([403, "CROSS_SITE_REQUEST"]);
    const page = await proxy(new NextRequest(new URL("/sign-in", appOrigin), { method: "POST", headers }));
    expect(page.status).toBe(403);
  });

  test.each([
    ["our own page", { origin: appOrigin, host, "sec-fetch-site": "same-origin" }],
    ["a preview's own page", { origin: "https://preview.test", host: "preview.test", "sec-fetch-site": "same-origin" }],
  ])("from %s comes through", async (_from, headers) => {
    expect((await send(createSiteRoute, { body: {}, headers })).status).toBe(401);
    expect((await proxy(new NextRequest(new URL("/sign-in", appOrigin), { method: "POST", headers }))).status).toBe(200);
  });
});

// Guarantee: no other subdomain can plant or replace a session. A browser accepts __Host- only with Secure, Path=/ and no Domain.
test("the session's cookies are bound to this very host", async () => {
  const person = await createPerson(db.sql, "cookies@origins.test");
  const set: { name: string; options: Record<string, unknown> }[] = [];
  const client = sessionClient({ getAll: () => [], setAll: (list) => void set.push(...list.filter(({ value }) => value !== "")) });
  expect((await client.auth.signInWithPassword({ email: person.email, password })).error).toBe(null);
  expect(set.length).toBeGreaterThan(0);
  for (const { name, options } of set) {
    expect(name).toMatch(/^__Host-om_session/);
    expect(options).toMatchObject({ secure: true, httpOnly: true, path: "/", sameSite: "lax" });
    expect(options.domain).toBe(undefined);
  }
});

test.each([
  ["mailto:security@example.com", 200],
  ["", 404],
])("security.txt with the contact %j answers %i", async (contact, status) => {
  vi.resetModules();
  vi.stubEnv("SECURITY_CONTACT", contact);
  const { GET } = await import("#app/.well-known/security.txt/route.ts");
  const response = await send(GET, { method: "GET", path: "/.well-known/security.txt" });
  expect(response.status).toBe(status);
  if (status === 200) {
    const text = await response.text();
    expect(text).toContain(`Contact: ${contact}\n`);
    const expiresInDays = (Date.parse(/^Expires: (.+)$/m.exec(text)?.[1] ?? "") - Date.now()) / 86_400_000;
    expect(expiresInDays).toBeGreaterThan(30);
    expect(expiresInDays).toBeLessThan(366); // RFC 9116 asks for less than a year
  }
  vi.unstubAllEnvs();
});

// Guarantee: what is installed is what was reviewed. Mutation: accept entries without a hash.
test("a lock file with a package that npm would not check is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "lock-"));
  const check = () => promisify(execFile)(process.execPath, [resolve("scripts/complete-lock.ts"), "--check"], { cwd: folder });
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  await expect(check()).resolves.toBeTruthy();
  delete lock.packages["node_modules/next"].integrity;
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  await expect(check()).rejects.toMatchObject({ stderr: expect.stringContaining("no integrity for next") });
  rmSync(folder, { recursive: true });
});

/** What the registry that the lock file was written with does not have. Nothing of it is installed on Linux with x64 or arm64. */
const withoutHash: Record<string, string> = {
  "@biomejs/cli-": "android-arm64 android-x64 darwin-arm64 darwin-x64 win32-arm64 win32-x64",
  "@next/swc-": "darwin-arm64 darwin-x64 win32-arm64-msvc win32-x64-msvc",
  "@oxc-parser/binding-":
    "android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-arm-musleabihf linux-ppc64-gnu linux-riscv64-gnu linux-riscv64-musl linux-s390x-gnu openharmony-arm64 win32-arm64-msvc win32-ia32-msvc win32-x64-msvc",
  "@rolldown/binding-":
    "android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-ppc64-gnu linux-s390x-gnu openharmony-arm64 wasm32-wasi win32-arm64-msvc win32-x64-msvc",
  "@swc/core-":
    "darwin-arm64 darwin-x64 linux-arm-gnueabihf linux-ppc64-gnu linux-s390x-gnu win32-arm64-msvc win32-ia32-msvc win32-x64-msvc",
  "@tailwindcss/oxide-":
    "android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf wasm32-wasi win32-arm64-msvc win32-x64-msvc",
};

// Guarantee: an entry that loses its hash is noticed, on whatever machine it would be installed. Entries that get one leave the list.
test("a package that slips in without a hash is noticed: those without one are these, and no others", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const found = Object.keys(packages).filter((at) => at !== "" && !packages[at].integrity);
  const named = Object.entries(withoutHash).flatMap(([start, ends]) => ends.split(" ").map((end) => `node_modules/${start}${end}`));
  expect(found.sort()).toEqual(named.sort());
  for (const at of found) expect(packages[at].optional, at).toBe(true);
});
