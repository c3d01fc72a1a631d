/** npm run db:render: renders the migration from supabase/schemas, until the first release. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { baselineName, renderMigration } from "./render-migration.ts";
import { isReleased, migrationsIn, schemasIn, supabaseDir } from "./supabase-dir.ts";

if (isReleased(supabaseDir)) {
  console.error("The schema is released, so its migrations stay as they are. Write what changed with npm run db:migration <name>.");
  process.exit(1);
}
const file = join(migrationsIn(supabaseDir), baselineName);
const rendered = renderMigration(schemasIn(supabaseDir));
const isCurrent = rendered === readFileSync(file, "utf8");
if (!isCurrent) writeFileSync(file, rendered);
console.log(`supabase/migrations/${baselineName} ${isCurrent ? "was current already" : "is written"}. Next: npm run types:generate`);
