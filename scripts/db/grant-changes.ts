import type { Difference } from "./catalog.ts";

/** What the right is on, as a grant says it; undefined for rights that are not ours to change by rule. */
function target({ kind, name }: Difference): { on: string; column: string } | undefined {
  if (kind === "function grant") return { on: `function ${name}`, column: "" };
  if (kind === "schema grant") return { on: `schema ${name}`, column: "" };
  if (kind === "table grant") return { on: name, column: "" };
  const [, table, column] = /^(.*)\.([^.]+)$/.exec(name) ?? [];
  return kind === "column grant" && table && column ? { on: table, column: ` (${column})` } : undefined;
}

/** The revokes and grants that turn one list of rights into the other. */
export function grantChanges(difference: Difference): string[] | undefined {
  const found = target(difference);
  const rightsOf = (text = "") => text.split(", ").filter(Boolean);
  const [before, after] = [rightsOf(difference.from), rightsOf(difference.to)];
  if (!found || [...before, ...after].some((right) => right.endsWith("with grant option"))) return undefined;
  const statement = (verb: string, preposition: string) => (right: string) => {
    const [role, privilege] = right.split(": ");
    return `${verb} ${privilege}${found.column} on ${found.on} ${preposition} ${role}`;
  };
  return [
    ...before.filter((right) => !after.includes(right)).map(statement("revoke", "from")),
    ...after.filter((right) => !before.includes(right)).map(statement("grant", "to")),
  ];
}
