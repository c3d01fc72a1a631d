/** npm run types:generate: applies the migrations to a throw-away database and writes lib/db/types.gen.ts from it. */
import { rmSync, writeFileSync } from "node:fs";
import postgres from "postgres";
import { temporaryStateDir } from "./local/process/state-dir.ts";
import { startStack } from "./local/stack.ts";
import { renderTypes } from "./render-types.ts";

const stateDir = temporaryStateDir();
const stack = await startStack({ mode: "test", stateDir, logDir: stateDir, siteUrl: "http://127.0.0.1", quiet: true });
const sql = postgres(stack.adminUrl, { max: 1 });
try {
  writeFileSync("lib/db/types.gen.ts", await renderTypes(sql));
  console.log("lib/db/types.gen.ts is current");
} finally {
  await sql.end();
  await stack.stop();
  rmSync(stateDir, { recursive: true, force: true });
}
