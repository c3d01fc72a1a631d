/** A claim as SQL gives it: plain rows come by columns, with what all of them have in common said once. See claim_plain. */
export interface PackedClaim<Row> {
  rows: Row[];
  plain?: { each: object; columns: Record<string, unknown[]> } | null;
}

/** All rows of a claim, as objects. */
export function claimedRows<Row extends object>({ rows, plain }: PackedClaim<Row>): Row[] {
  if (!plain) return rows;
  const columns = Object.entries(plain.columns);
  const count = columns[0]?.[1].length ?? 0;
  const unpacked = Array.from({ length: count }, (_row, place) => {
    const row: Record<string, unknown> = { ...plain.each };
    for (const [name, values] of columns) row[name] = values[place];
    return row as Row; // SQL decides what a row has; claimAnswer checks it
  });
  return [...rows, ...unpacked];
}
