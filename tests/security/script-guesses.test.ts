import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { noteWrongKey, writeWrongKeys } from "#lib/oci/script/wrong-keys.ts";
import type { SiteId } from "#lib/site.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { service } from "#tests/fixtures/service.ts";
import { type OciApp, type OciSite, startOciApp } from "#tests/support/oci-app.ts";
import { startTestRedis, type TestRedis } from "#tests/support/test-redis.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let redis: TestRedis;
let app: OciApp;
beforeAll(async () => {
  redis = await startTestRedis();
  app = await startOciApp({ redisRest: redis.rest });
});
afterEach(() => void vi.restoreAllMocks());
afterEach(writeWrongKeys);
afterAll(async () => {
  await app.stop();
  await redis.stop();
});

const random = (bytes = 16) => randomBytes(bytes).toString("hex");
/** What would be written after ten seconds is written when the test says so, however long its guesses take. */
function stopWriting(): void {
  const { setTimeout: wait } = globalThis;
  const waitLonger = (run: () => void, ms?: number) => wait(run, ms === 10_000 ? 3_600_000 : ms);
  vi.spyOn(globalThis, "setTimeout").mockImplementation(waitLonger as typeof setTimeout); // nobody here passes arguments on
}
/** Each guess comes from an address of its own, so that no limit ends the attack. */
const guess = async (siteId: string) => {
  const headers = { "x-api-key": `om_${random()}`, "x-forwarded-for": random(4), "x-opsmantik-script-version": random(4) };
  const response = await app.verify({ siteId }, headers);
  return [response.status, (await response.json()).code];
};
const refused = [401, "INVALID_CREDENTIALS"];
const linesOf = (site: OciSite) =>
  app.db.sql`select kind, error_code, times, script_version from public.script_runs where site_id = ${site.siteUuid} order by id`.then(
    (rows) => [...rows],
  );

describe("ten thousand wrong keys", () => {
  // Guarantee: a stranger with a public id fills no table. Before, each guess rewrote the row: 10,000 dead rows and 1.3 MB.
  // Mutation: call record_wrong_keys from noteWrongKey.
  test("with other keys, versions and addresses are one line, written once", async () => {
    const site = await app.newSite();
    stopWriting();
    for (let n = 0; n < 100; n++) expect(await guess(site.siteId)).toEqual(refused);
    for (let n = 100; n < 10_000; n++) noteWrongKey(site.siteId);
    expect(await linesOf(site)).toEqual([]);
    const [before] = await app.db.sql`select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as xid`;
    await writeWrongKeys();
    const [after] = await app.db.sql`select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as xid`;
    expect(await linesOf(site)).toEqual([{ kind: "verify", error_code: "INVALID_CREDENTIALS", times: 10_000, script_version: null }]);
    expect(Number(after?.xid) - Number(before?.xid)).toBe(1);
  });

  test("for ten thousand ids that no site has write nothing and keep nothing", async () => {
    const [before] = await app.db.sql`select count(*)::int as rows from public.script_runs`;
    for (let n = 0; n < 10_000; n++) noteWrongKey(random() as SiteId);
    await writeWrongKeys();
    const [after] = await app.db.sql`select count(*)::int as rows from public.script_runs`;
    expect(after).toEqual(before);
  });

  // Guarantee: also many processes that write at once make one line an hour. Mutation: leave the advisory lock out.
  test("written by two processes at once stay one line, and a new one begins after a quiet hour", async () => {
    const site = await app.newSite();
    const write = (at: Date) => service(app.db.sql, "record_wrong_keys", { p_tries: { [site.siteId]: 3 } }, at);
    const now = new Date();
    await whileOpen(
      app.db.sql,
      (tx) => tx`select public.record_wrong_keys(${tx.json({ [site.siteId]: 2 })})`,
      () => write(now),
    );
    expect(await linesOf(site)).toMatchObject([{ times: 5 }]);
    await write(new Date(now.getTime() + 2 * 3_600_000));
    expect(await linesOf(site)).toMatchObject([{ times: 5 }, { times: 3 }]);
  });

  test("the owner sees them, and the script's own runs beside them", async () => {
    const site = await app.newSite();
    await guess(site.siteId);
    await writeWrongKeys();
    await app.session(site);
    const { runs } = await callAs<{ runs: object[] }>(app.db.sql, site.owner, (tx) => tx`select public.script_status(${site.siteId})`);
    expect(runs).toMatchObject([
      { kind: "verify", errorCode: null },
      { errorCode: "INVALID_CREDENTIALS", times: 1 },
    ]);
  });
});

describe("what the answer to a guess says about a site", () => {
  /** A site with keys, one without any, an archived one, and an id that no site has. */
  const targets = async (): Promise<[string, string][]> => {
    const [withKey, without, archived] = [await app.newSite(), await app.newSite(), await app.newSite()];
    await callAs(app.db.sql, without.owner, (tx) => tx`select public.revoke_site_api_key(${without.siteId}, ${without.keyId})`);
    await callAs(app.db.sql, archived.owner, (tx) => tx`select public.set_site_archived(${archived.siteId}, true)`);
    return [
      ["with a key", withKey.siteId],
      ["without a key", without.siteId],
      ["archived", archived.siteId],
      ["unknown", random()],
    ];
  };

  // Guarantee: no guess writes while the caller waits, whichever site it names, so its time does not say which sites exist. Counted, not timed:
  // on a busy machine medians of 200 interleaved guesses differed by 0.93 to 1.19 without the write and by 1.04 to 1.06 with it.
  // Mutation: await record_script_run for a wrong key.
  test("no guess makes the database write", async () => {
    const sites = await targets();
    stopWriting();
    for (const [name, siteId] of sites) {
      const [before] = await app.db.sql`select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as xid`;
      for (let n = 0; n < 20; n++) expect(await guess(siteId)).toEqual(refused);
      const [after] = await app.db.sql`select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as xid`;
      expect(Number(after?.xid) - Number(before?.xid), name).toBe(0);
    }
  });
});
