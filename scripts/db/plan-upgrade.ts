import type postgres from "postgres";
import type { Difference } from "./catalog.ts";
import { withDependents } from "./dependents.ts";
import { grantChanges } from "./grant-changes.ts";
import type { Statement } from "./read-schemas.ts";

export interface Upgrade {
  /** Statements without their semicolon, in the order in which they run. */
  drops: string[];
  creates: string[];
  grants: string[];
  /** What a rule must not decide, because rows or running work depend on it. */
  byHand: string[];
}

export interface Schemas {
  /** In the order in which they run. */
  statements: Statement[];
  /** What makes and grants each object. */
  makers: Map<string, Statement[]>;
}

type Named = Pick<Difference, "kind" | "name">;

const key = ({ kind, name }: Named) => `${kind} ${name}`;
const isNew = ({ from }: Difference) => from === undefined;
const isGone = ({ to }: Difference) => to === undefined;
/** Everything before the body: names, types and defaults of the arguments, and the result. None can be replaced in place. */
const head = (definition?: string) => definition?.split("\n LANGUAGE ")[0];
const needsDrop = (one: Difference) => !isNew(one) && (one.kind === "function" ? head(one.from) !== head(one.to) : true);

/** What has to be done to the database behind `sql` to remove the differences. */
export async function planUpgrade(sql: postgres.Sql, all: Difference[], schemas: Schemas): Promise<Upgrade> {
  const tables = new Map(all.filter(({ kind }) => kind === "table").map((one) => [one.name, one]));
  const differences = all.filter((one) => !isPartOf(one, tables));
  const inWay = (kind: string) => differences.filter((one) => one.kind === kind && needsDrop(one));
  const names = (kind: string) => inWay(kind).map(({ name }) => name);

  const chained = await withDependents(sql, names("function"), names("view"));
  const chainedKeys = new Set(chained.map(key));
  const parts = [...inWay("policy"), ...inWay("trigger")].filter((one) => !chainedKeys.has(key(one)));
  const dropped = [...parts, ...chained.filter(({ kind }) => kind !== "other")];
  const droppedKeys = new Set(dropped.map(key));

  const made = [...dropped, ...differences.filter((one) => isNew(one) && isMadeByRule(one))];
  const replaced = differences.filter((one) => one.kind === "function" && !isNew(one) && !droppedKeys.has(key(one)));
  const rest = differences.filter((one) => !made.some((other) => isCoveredBy(one, other)) && !replaced.includes(one));
  return {
    drops: dropped.map(key).map((object) => `drop ${object}`),
    creates: createStatements(made, replaced, schemas),
    grants: rest.flatMap((one) => grantChanges(one) ?? []),
    byHand: [...chained.filter(({ kind }) => kind === "other").map(sayDependent), ...rest.filter((one) => !grantChanges(one)).map(say)],
  };
}

/** Whether a table that comes or goes brings this along. */
function isPartOf({ kind, name, from, to }: Difference, tables: Map<string, Difference>): boolean {
  if (kind === "table" || kind === "function" || kind === "view") return false;
  const [, indexed] = kind === "index" ? (/ ON (?:ONLY )?(\S+) USING /.exec(from ?? to ?? "") ?? []) : [];
  const owner = indexed ?? (kind === "table grant" ? name : (/ on (\S+)$/.exec(name)?.[1] ?? name.replace(/\.[^.]+$/, "")));
  const table = tables.get(owner);
  return table !== undefined && (isNew(table) || isGone(table));
}

const isMadeByRule = ({ kind }: Named) => ["function", "view", "trigger", "policy", "table", "type", "domain"].includes(kind);

/** The object itself, and the rights that are given where it is made. */
function isCoveredBy({ kind, name }: Difference, made: Named): boolean {
  const object = kind === "function grant" ? "function" : kind === "table grant" ? "view" : kind;
  return name === made.name && object === made.kind;
}

function createStatements(made: Named[], replaced: Named[], { statements, makers }: Schemas): string[] {
  const create = new Set(made.flatMap((one) => makers.get(key(one)) ?? []));
  const replace = new Set(replaced.flatMap((one) => (makers.get(key(one)) ?? []).filter(({ makes }) => makes)));
  return statements
    .filter((one) => create.has(one) || replace.has(one))
    .map((one) => (replace.has(one) ? one.text.replace(/^create function/, "create or replace function") : one.text));
}

const sayDependent = ({ name }: Named) => `${name} depends on a function or view that is made anew`;

function say(one: Difference): string {
  const oneLine = (text?: string) => text?.replace(/\s+/g, " ");
  if (isNew(one)) return `${key(one)} is new: ${oneLine(one.to)}`;
  if (isGone(one)) return `${key(one)} is gone; it was: ${oneLine(one.from)}`;
  return `${key(one)} was: ${oneLine(one.from)}; it becomes: ${oneLine(one.to)}`;
}
