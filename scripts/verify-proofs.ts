/**
 * `npm run verify:proofs -- [postgres://owner@…]`: hashes every proof and every block again and names the first broken link.
 * Without an address it takes DATABASE_URL, and without that the running demo. The login must be able to read the tables: the app's
 * own role cannot. Exits 1 when something is wrong, 2 when it could not check.
 */
import postgres from "postgres";
import { verifyProofs } from "#lib/contracts/verify-proofs.ts";
import { readDemoFile } from "./local/demo/demo-file.ts";

const url = process.argv[2] ?? process.env.DATABASE_URL ?? readDemoFile()?.adminDatabaseUrl;
if (!url) {
  console.error("Give the address of the database as its owner, set DATABASE_URL, or start the demo.");
  process.exit(2);
}

const sql = postgres(url, { max: 1, onnotice: () => {} });
try {
  const { sites, blocks, proofs, unsealed, fault } = await verifyProofs(sql);
  const seen = `${proofs} proofs in ${blocks} blocks of ${sites} sites`;
  if (fault) {
    console.log(`WRONG  site ${fault.site}, block ${fault.block ?? "none"}, proof ${fault.proof ?? "-"}: ${fault.what}`);
    console.log(`       before it ${seen} are as they were written`);
  } else {
    console.log(`ok     ${seen} are as they were written`);
  }
  if (unsealed.count > 0) console.log(`       ${unsealed.count} more wait for their block, the oldest since ${unsealed.oldest}`);
  process.exitCode = fault ? 1 : 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
} finally {
  await sql.end();
}
