import type { Phase, Statement } from "./read-schemas.ts";

const phases: Phase[] = ["ground", "object", "part", "row"];

/** An order that works: by phase, then in the order of folders and files, except for objects that another one needs first. */
export function orderStatements(statements: Statement[]): Statement[] {
  const makers = Map.groupBy(
    statements.filter(({ makes }) => makes),
    ({ makes }) => makes,
  );
  const ordered = new Set<Statement>();
  const place = (one: Statement, waiting: Statement[]): void => {
    if (ordered.has(one)) return;
    if (waiting.includes(one)) throw new Error(`These need each other: ${waiting.map(({ makes }) => makes).join(", ")}`);
    for (const name of one.needs) {
      // Functions of one name are different functions; a table or a function that names itself needs no other.
      if (name !== one.makes) for (const maker of makers.get(name) ?? []) place(maker, [...waiting, one]);
    }
    ordered.add(one);
  };
  for (const phase of phases) for (const one of statements) if (one.phase === phase) place(one, []);
  return [...ordered];
}
