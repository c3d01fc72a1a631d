/** As much of the Google Ads Query Language as delivery's queries need. */
import type { Call } from "../sim-shapes.ts";
import { refuseCall } from "./ads-failure.ts";

export type Row = Record<string, unknown>;

export const camelCase = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

export interface Condition {
  path: string;
  isNot: boolean;
  values: string[];
}

export function parseQuery(call: Call, query: string): { resource: string; selected: string[]; conditions: Condition[]; limit: number } {
  const pattern = /^\s*SELECT\s+([\w.,\s]+?)\s+FROM\s+(\w+)(?:\s+WHERE\s+(.+?))?(?:\s+ORDER\s+BY\s+[\w.,\s]+?)?(?:\s+LIMIT\s+(\d+))?\s*$/is;
  const [, fieldList, resource, where = "", limit = "10000"] = pattern.exec(query) ?? [];
  if (!fieldList || !resource) throw refuseCall(call, 400, { queryError: "UNEXPECTED_END_OF_QUERY" }, "The query cannot be read.");
  const conditions = where
    .split(/\s+AND\s+/i)
    .filter(Boolean)
    .map((text) => parseCondition(call, text));
  return { resource, selected: fieldList.split(",").map((name) => name.trim()), conditions, limit: Number(limit) };
}

function parseCondition(call: Call, text: string): Condition {
  const [, path, operator = "", list = ""] = /^([\w.]+)\s*(=|!=|IN|NOT\s+IN)\s*(.+)$/i.exec(text.trim()) ?? [];
  if (!path) throw refuseCall(call, 400, { queryError: "BAD_OPERATOR" }, `The simulator cannot read the condition: ${text}`);
  const values = list
    .replace(/^\(|\)$/g, "")
    .split(",")
    .map((value) => value.trim().replace(/^['"]|['"]$/g, ""));
  return { path, isNot: /!|NOT/i.test(operator), values };
}

export function holds(row: Row, { path, isNot, values }: Condition, resource: string): boolean {
  const value = valueAt(row, path.slice(resource.length + 1));
  return values.some((wanted) => String(value) === (typeof value === "boolean" ? wanted.toLowerCase() : wanted)) !== isNot;
}

function valueAt(row: Row, path: string): unknown {
  return path.split(".").reduce<unknown>((at, name) => (at as Row | undefined)?.[camelCase(name)], row);
}

/** The fields that a query selects, nested as REST nests them. */
export function pick(row: Row, paths: string[]): Row {
  const picked: Row = {};
  for (const path of paths) {
    const value = valueAt(row, path);
    if (value === undefined) continue;
    const names = path.split(".").map(camelCase);
    const last = names.pop() ?? "";
    let target = picked;
    for (const name of names) {
      target[name] = target[name] ?? {};
      target = target[name] as Row;
    }
    target[last] = value;
  }
  return picked;
}
