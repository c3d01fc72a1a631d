/** One line of a screen's filter table. It makes a chip or a field of the form; its key is the name in the address and in the query. */
export interface FilterField<Key extends string = string> {
  key: Key;
  /** money is written in units and kept in hundredths; a flag is "true" or absent. */
  kind: "choice" | "day" | "money" | "flag" | "text";
  label: string;
  /** What a chip says while nothing is chosen, if not its label. */
  any?: string;
  options?: readonly { value: string; label: string }[];
  /** A desk shows it as a chip, outside of the form. */
  isChip?: boolean;
  /** Stands beside the next one. */
  isHalf?: boolean;
  /** What the list shows while the address names nothing. */
  shown?: string;
  /** Of a day: the last that can be chosen. */
  max?: string;
}

export type Filter<Key extends string = string> = Partial<Record<Key, string>>;

/** The filter with another value for one field; without one the field is let go. */
export function withValue<Key extends string>(filter: Filter<Key>, key: Key, value: string | undefined): Filter<Key> {
  const { [key]: _, ...rest } = filter;
  return (value ? { ...rest, [key]: value } : rest) as Filter<Key>; // the same keys, with or without this one
}

/** How many of these fields are set. */
export const countSet = <Key extends string>(fields: readonly FilterField<Key>[], filter: Filter<Key>): number =>
  fields.filter(({ key }) => filter[key]).length;
