/** npm run db:render: renders the migration from supabase/schemas, until the first release. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { baselineName, renderMigration } from "./render-migration.ts";
import { isReleased, migrationsIn, schemasIn, supabaseDir } from "./supabase-dir.ts";

if (isReleased(supabaseDir)) {
  console.error("The schema is released, so its migrations stay as they are. Write what changed with npm run db:migration <name>.");
  process.exit(1);
}
writeFileSync(join(migrationsIn(supabaseDir), baselineName), renderMigration(schemasIn(supabaseDir)));
console.log(`supabase/migrations/${baselineName} is current. Next: npm run types:generate`);
