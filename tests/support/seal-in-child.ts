/** Seals a lead in a transaction that it never commits, says so, and waits to be killed. */
import postgres from "postgres";
import { actAs } from "#tests/fixtures/act-as.ts";

const [url = "", siteId = "", operatorId = "", id = "", key = ""] = process.argv.slice(2);
const sql = postgres(url, { max: 1, onnotice: () => {} });
await actAs(sql, operatorId, async (tx) => {
  await tx`select public.seal_call(${siteId}, ${tx.json({ id, amountCents: 425_000 })}, ${"1".repeat(64)}, ${key})`;
  process.stdout.write("sealed\n");
  await new Promise(() => setInterval(() => {}, 1000));
});
