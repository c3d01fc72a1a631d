/** npm run db:render: writes the migration anew from supabase/schemas, until the first release. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { migrationsDir, schemasDir } from "./read-schemas.ts";
import { baselineName, renderMigration } from "./render-migration.ts";

writeFileSync(join(migrationsDir, baselineName), renderMigration(schemasDir));
console.log(`supabase/migrations/${baselineName} is current`);
