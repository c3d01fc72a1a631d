import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { applyMigrations } from "../local/postgres/migrate.ts";
import { compareCatalogs, readCatalog } from "./catalog.ts";
import { planUpgrade, type Upgrade } from "./plan-upgrade.ts";
import { applySchemas, checkBodies, type ScratchDatabase, withScratchDatabases } from "./scratch-databases.ts";
import { statementsByObject } from "./statements-by-object.ts";
import { migrationsIn, schemasIn } from "./supabase-dir.ts";

export interface MigrationOutcome {
  /** The migration of that name; undefined when there was nothing to write. */
  fileName: string | undefined;
  /** What a database upgraded by the migrations still lacks; empty when they are finished. */
  left: string[];
}

export interface MigrationOptions {
  /** A Postgres on which scratch databases may be made. */
  serverUrl: string;
  supabaseDir: string;
  name: string;
  at: Date;
}

/**
 * Writes the migration that brings a database from the migrations so far to the schemas, and tries it. An existing file of that
 * name is somebody's work: it is only tried.
 */
export async function writeMigration({ serverUrl, supabaseDir, name, at }: MigrationOptions): Promise<MigrationOutcome> {
  const dir = migrationsIn(supabaseDir);
  return withScratchDatabases(serverUrl, async (create) => {
    const target = await create();
    const statements = await applySchemas(target.sql, schemasIn(supabaseDir));
    await checkBodies(target.sql);
    const schemas = { statements, makers: await statementsByObject(target.sql, statements) };
    const upgraded = await create();
    let fileName = migrationNames(dir).find((file) => file.endsWith(`_${name}.sql`));
    if (!fileName) {
      await applyMigrations(upgraded.url, dir);
      const differences = await differencesBetween(upgraded, target);
      if (differences.length === 0) return { fileName, left: [] };
      fileName = `${nextVersion(dir, at)}_${name}.sql`;
      writeFileSync(join(dir, fileName), upgradeText(await planUpgrade(upgraded.sql, differences, schemas)));
    }
    return { fileName, left: await tryMigrations(dir, upgraded, target) };
  });
}

async function tryMigrations(dir: string, upgraded: ScratchDatabase, target: ScratchDatabase): Promise<string[]> {
  try {
    await applyMigrations(upgraded.url, dir);
  } catch (error) {
    return [`It cannot be applied yet. ${error instanceof Error ? error.message : error}`];
  }
  return (await differencesBetween(upgraded, target)).map(({ kind, name }) => `${kind} ${name}`);
}

async function differencesBetween(from: ScratchDatabase, to: ScratchDatabase) {
  return compareCatalogs(await readCatalog(from.sql), await readCatalog(to.sql));
}

function migrationNames(dir: string): string[] {
  return readdirSync(dir)
    .filter((file) => file.endsWith(".sql"))
    .toSorted();
}

/** After every other, whatever this machine's clock says. */
function nextVersion(dir: string, at: Date): string {
  const now = at.toISOString().replace(/\D/g, "").slice(0, 14);
  const newest = migrationNames(dir).at(-1)?.slice(0, 14) ?? "";
  return now > newest ? now : String(Number(newest) + 1);
}

function upgradeText({ drops, byHand, creates, grants }: Upgrade): string {
  const statements = (texts: string[]) => texts.map((text) => `${text};\n`).join("");
  return [
    "-- A function may name what comes after it.\nset check_function_bodies = off;\n",
    statements(drops),
    byHand.map((line) => `-- By hand: ${line}\n`).join(""),
    statements(creates),
    statements(grants),
    "reset check_function_bodies;\n",
  ]
    .filter(Boolean)
    .join("\n");
}
