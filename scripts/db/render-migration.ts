import { orderStatements } from "./order-statements.ts";
import { readSchemas } from "./read-schemas.ts";

/** Until the first release there is one migration, rendered again each time. */
export const baselineName = "20261116000000_schema.sql";

const head = `-- Rendered from supabase/schemas by \`npm run db:render\`. Read and edit it there.

-- A function may name what comes after it.
set check_function_bodies = off;
`;

/** The migration that makes the database of these schemas from an empty one. */
export function renderMigration(schemasDir: string): string {
  let text = head;
  let file = "";
  for (const statement of orderStatements(readSchemas(schemasDir))) {
    if (statement.file !== file) text += `\n-- ${statement.file}\n`;
    file = statement.file;
    text += `${statement.text};\n`;
  }
  return `${text}\nreset check_function_bodies;\n`;
}
