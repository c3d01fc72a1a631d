import { afterEach, expect, test, vi } from "vitest";
import { actionJob, advance, type Job, undoJob } from "#components/dashboard/oci-control/actions/job.ts";
import type { SiteId } from "#lib/site.ts";

afterEach(() => vi.unstubAllGlobals());

const undoUntil = "2026-11-16T09:10:00Z";
const done = (actionId: string, rows: number, total = rows, skippedCount = 1) =>
  Response.json({
    ok: true,
    actionId,
    affected: rows - skippedCount,
    skipped: [],
    skippedCount,
    done: rows,
    total,
    cursor: rows < total ? `${actionId}:${rows}` : null,
    undoUntil,
  });
const refused = () => Response.json({ code: "RATE_LIMITED" }, { status: 429 });
const ids = Array.from({ length: 1500 }, (_, index) => String(index));
const siteId = "site" as SiteId;
const byIds = () => actionJob(siteId, "RETRY_SELECTED", { ids }, {});
const byPreview = (count: number) =>
  actionJob(siteId, "MARK_FAILED", { preview: { previewId: "p", digest: "d", count } }, { reason: "why" });

function work(job: Job, answers: Response[], isStopped = () => false) {
  const asked: string[] = [];
  const seen: string[] = [];
  vi.stubGlobal("fetch", async (url: string, { body }: { body: string }) => {
    asked.push(`${url} ${body}`);
    return answers.shift();
  });
  const onProgress = ({ done, total }: Job) => seen.push(`${done}/${total}`);
  return advance(job, { onProgress, isStopped }).then((ended) => ({ ...ended, asked, seen }));
}

// Guarantee: what a bulk action did before it failed is told, can be gone on with, and can be taken back.
test("a failure midway comes with what was done before it, and the rest is done later", async () => {
  const { job, failure, seen } = await work(byIds(), [done("a", 1000), refused()]);
  expect(failure?.code).toBe("RATE_LIMITED");
  expect(job).toMatchObject({ done: 1000, total: 1500, outcome: { actionIds: ["a"], affected: 999, skippedCount: 1, undoUntil } });
  expect(seen).toEqual(["1000/1500"]);
  const rest = await work(JSON.parse(JSON.stringify(job)), [done("b", 500)]);
  expect(rest.asked).toHaveLength(1);
  expect(rest.asked[0]).toContain('"1000"');
  expect(rest.job).toMatchObject({ steps: [], done: 1500, outcome: { actionIds: ["a", "b"], affected: 1498, skippedCount: 2 } });
});

test("a failure at once has done nothing", async () => {
  expect(await work(byIds(), [refused()])).toMatchObject({
    failure: { code: "RATE_LIMITED" },
    job: { done: 0, outcome: { actionIds: [] } },
  });
});

// Mutation: adding up the answers of one action, which count from its start, tells 1,197 rows of 1,000.
test("batches of one preview are counted once, with the cursor that the server gave", async () => {
  const { job, asked, seen } = await work(byPreview(1000), [done("a", 400, 1000), done("a", 800, 1000), done("a", 1000, 1000)]);
  expect(seen).toEqual(["400/1000", "800/1000", "1000/1000"]);
  expect(asked[2]).toContain('"cursor":"a:800"');
  expect(job.outcome).toMatchObject({ actionIds: ["a"], affected: 999 });
});

test("a stop takes effect between two requests", async () => {
  let answered = 0;
  const { job, failure } = await work(byPreview(1000), [done("a", 400, 1000), done("a", 800, 1000)], () => answered++ >= 1);
  expect(failure).toBeNull();
  expect(job).toMatchObject({ done: 400, steps: [{ body: { cursor: "a:400" } }] });
});

test("taking back begins with the last part", async () => {
  const { job, asked } = await work(undoJob(siteId, { actionIds: ["a", "b"], affected: 1498 }), [
    done("u", 499, 499, 0),
    done("v", 999, 999, 0),
  ]);
  expect(asked.map((each) => each.split(" ")[0])).toEqual(["/api/oci/queue-actions/b/undo", "/api/oci/queue-actions/a/undo"]);
  expect(job).toMatchObject({ done: 1498, total: 1498, outcome: { affected: 1498, skippedCount: 0 } });
});
