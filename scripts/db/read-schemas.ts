import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { splitSql, withoutComments } from "../local/postgres/split-sql.ts";

/**
 * When a statement may run:
 *   ground  what everything stands on: privileges, schemas, roles
 *   object  types, domains, tables, functions and views, each after those it names
 *   part    what belongs to an object: indexes, triggers, row security, policies, grants
 *   row     rows of fixed tables, when everything that they set in motion is there
 */
export type Phase = "ground" | "object" | "part" | "row";

export interface Statement {
  /** Below the folder of schemas. */
  file: string;
  text: string;
  phase: Phase;
  /** The name of the object that it makes. */
  makes?: string;
  /** Names of our schemas that have to exist before it. */
  needs: string[];
}

const ourNames = /\b(?:public|private)\.\w+/g;

/** Every statement of the schemas, in the order of folders and files. */
export function readSchemas(dir: string): Statement[] {
  const files = globSync("*/*.sql", { cwd: dir }).toSorted();
  return files.flatMap((file) => splitSql(readFileSync(join(dir, file), "utf8")).map((text) => classify(file, withoutComments(text))));
}

function classify(file: string, text: string): Statement {
  const makes = /^create (?:type|domain|table|view|function)\s+([\w.]+)/.exec(text)?.[1];
  // A body is not checked when its function is made; only the arguments and the result have to exist.
  const head = text.startsWith("create function") ? text.replace(/\sas \$.*$/s, "") : text;
  return { file, text, phase: phaseOf(text, file), ...(makes && { makes }), needs: [...new Set(head.match(ourNames))] };
}

function phaseOf(text: string, file: string): Phase {
  if (/^create (type|domain|table|view|function)\s/.test(text)) return "object";
  if (/^(create (unique index|index|trigger|constraint trigger|policy)|alter table|grant (execute|select))\s/.test(text)) return "part";
  if (/^(insert|update|select)\s/.test(text)) return "row";
  if (/^(alter default privileges|create schema|revoke all on schema|do|alter role|grant usage)\s/.test(text)) return "ground";
  throw new Error(`${file} has a statement that nobody knows when to run: ${text.slice(0, 80)}`);
}
