/** Gives a text's value again without computing it, for the last `max` texts asked for. The value must depend on the text alone. */
export function rememberRecent<Value>(max: number, compute: (text: string) => Value): (text: string) => Value {
  // Two halves: when the newer is full, the older is forgotten. One Map that drops its oldest entry would pay for it on each miss.
  let newer = new Map<string, Value>();
  let older = newer;
  return (text) => {
    const known = newer.get(text) ?? older.get(text);
    if (known !== undefined && newer.has(text)) return known;
    const value = known ?? compute(text);
    if (newer.size >= max / 2) {
      older = newer;
      newer = new Map();
    }
    newer.set(text, value);
    return value;
  };
}
