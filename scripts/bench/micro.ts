import { readFileSync } from "node:fs";
import postgres from "postgres";
import { copyRows } from "#tests/fixtures/bulk-rows.ts";
import { sealLead } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { onStage, startDatabase } from "./stage.ts";
const ticks = (pid: number) => { const f = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" "); return (Number(f[11]) + Number(f[12])) * 10000; };
const sizes = (process.env.SIZES ?? "1,50,500").split(",").map(Number);
await onStage(async (stage) => {
  const { sql, adminUrl, appUrl } = await startDatabase(stage);
  const team = await createApiTeam(sql, "bench");
  const sealed = await sealLead(sql, team, { at: new Date(Date.now() - 3_600_000) });
  await sql`alter system set track_functions = 'all'`; await sql`select pg_reload_conf()`;
  for (const batch of sizes) {
    const rows = batch === 1 ? 1000 : batch === 50 ? 10000 : 20000;
    await copyRows(sql, sealed.saleId, rows, { halfDeferred: false });
    await sql`vacuum analyze`;
    await sql`checkpoint`;
    const app = postgres(appUrl, { max: 1, onnotice: () => {} });
    const [{ pid }] = await app`select pg_backend_pid() as pid`;
    const turn = async () => {
      const a = ticks(pid);
      const [c] = await app`select public.claim_offline_conversion_jobs_v2(${team.siteUuid}, 'google_ads', ${batch}) as claim`;
      const b = ticks(pid);
      const { token, rows: taken } = c.claim;
      const results = taken.map(({ id }: any) => ({ id, outcome: "COMPLETED", requestId: token }));
      await app`select public.settle_offline_conversion_jobs(${team.siteUuid}, ${token}, ${app.json(results)})`;
      const d = ticks(pid);
      return [b - a, d - b, taken.length];
    };
    let cur: any = null;
    const both = async () => {
      const a = ticks(pid);
      if (!cur) { const [c] = await app`select public.claim_offline_conversion_jobs_v2(${team.siteUuid}, 'google_ads', ${batch}) as claim`; cur = c.claim; if (!cur.rows.length) return [0, 0, 0]; }
      const ids = cur.rows.map((r: any) => r.id);
      const [x] = await app`select public.settle_and_claim_conversion_jobs(${team.siteUuid}, 'google_ads', ${cur.token}, ${ids}, ${ids.map((_: any, i: number) => i)},
        ${app.json({ transport: "data_manager", requestId: cur.token })}, ${app.json({ provider: "google_ads", outcome: "success", credentialsVersion: cur.batch.credentialsVersion, durationMs: 1 })}, ${batch}, 5, ${cur.last ? app.json(cur.last) : null}) as r`;
      if (x.r.left) console.log("left", x.r.left);
      cur = x.r.claim;
      return [0, ticks(pid) - a, ids.length];
    };
    if (process.env.BOTH) (globalThis as any).turn2 = both;
    const run = process.env.BOTH ? both : turn;
    for (let i = 0; i < 3; i++) await run();
    await sql`select pg_stat_reset()`;
    const t0 = performance.now(); let cc = 0, ss = 0, n = 0; const [x0] = await sql`select pg_current_wal_insert_lsn() as l`;
    while (n < rows - batch * 3) { const [a, b, k] = await run(); cc += a; ss += b; n += k; if (!k) break; }
    const wall = (performance.now() - t0) * 1000 / n; const [x1] = await sql`select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), ${x0.l}::pg_lsn)::float8 as b`;
    console.log(`batch ${batch}: wall ${wall.toFixed(1)} cpu claim ${(cc / n).toFixed(1)} settle ${(ss / n).toFixed(1)} µs/row; wal ${(x1.b / n).toFixed(0)}`);
    await app.end();
    await new Promise((r) => setTimeout(r, 300));
    const f = await sql`select funcname, calls, total_time, self_time from pg_stat_user_functions where self_time > 0 order by self_time desc limit 18`;
    for (const r of f) console.log(`   ${r.funcname.padEnd(40)} ${String(r.calls).padStart(7)}  self ${(r.self_time * 1000 / n).toFixed(2)} total ${(r.total_time * 1000 / n).toFixed(2)} µs/row`);
    const h = await sql`select relname, n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where n_tup_upd > 0`;
    console.log(h.map((r) => `${r.relname} ${r.n_tup_hot_upd}/${r.n_tup_upd}`).join("; "));
  }
});
