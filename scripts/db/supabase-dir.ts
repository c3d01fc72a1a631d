import { existsSync } from "node:fs";
import { join } from "node:path";
import { checkoutDir } from "../local/process/state-dir.ts";

/** The folder of the Supabase CLI: what people edit in `schemas`, what ships in `migrations`. */
export const supabaseDir = join(checkoutDir, "supabase");
export const schemasIn = (dir: string) => join(dir, "schemas");
export const migrationsIn = (dir: string) => join(dir, "migrations");

/** The first release leaves this file. From then on migrations are only ever added. */
export const isReleased = (dir: string) => existsSync(join(dir, "RELEASED"));
