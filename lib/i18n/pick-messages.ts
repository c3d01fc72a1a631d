type Tree = Record<string, unknown>;

/** A message with arguments is an array once the build has compiled it. */
const isTree = (value: unknown): value is Tree => typeof value === "object" && value !== null && !Array.isArray(value);

/** The parts of the messages at these paths, in their places. */
export function pickMessages(messages: Tree, paths: string[]): Tree {
  let picked: Tree = {};
  for (const path of paths) {
    let part: unknown = messages;
    const keys = path.split(".");
    for (const key of keys) part = isTree(part) ? part[key] : undefined;
    if (part !== undefined) picked = mergeMessages(picked, keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), part) as Tree); // built above as one
  }
  return picked;
}

export function mergeMessages(below: Tree, above: Tree): Tree {
  const merged = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const there = merged[key];
    merged[key] = isTree(there) && isTree(value) ? mergeMessages(there, value) : value;
  }
  return merged;
}
