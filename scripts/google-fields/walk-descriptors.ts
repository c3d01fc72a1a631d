/** Turns the descriptors of a published client library into our field table: what each message holds, under its JSON name. */

interface FieldDescriptor {
  type: string;
  rule?: "repeated";
  keyType?: string;
}

export interface Descriptor {
  fields?: Record<string, FieldDescriptor>;
  oneofs?: Record<string, { oneof: string[] }>;
  values?: Record<string, number>;
  nested?: Record<string, Descriptor>;
}

export interface FieldTable {
  messages: Record<string, Record<string, string>>;
  /** Of each group at most one field may be set. */
  oneofs: Record<string, string[][]>;
  enums: Record<string, string[]>;
}

export interface Wanted {
  /** Full names of the messages and enums to start from. */
  roots: string[];
  /** Of these messages, by table name, only some fields: the rest of their tree is large and nothing of ours reads it. */
  only: Record<string, string[]>;
}

const wellKnown: Record<string, string> = {
  "google.protobuf.Timestamp": "timestamp",
  "google.protobuf.Duration": "duration",
  "google.protobuf.FieldMask": "string",
  "google.protobuf.Any": "any",
};
const scalars = new Set(["string", "bool", "double", "float", "bytes", "int32", "int64", "uint32", "uint64"]);

/** `google.ads.googleads.v25.enums.XEnum.X` is `googleads.enums.X` in the table: no version, no wrapper. */
function tableName(fullName: string): string {
  const short = fullName.replace(/^google\.ads\.(googleads|datamanager)\.v\d+\./, "$1.");
  return short.replace(/\.(\w+)Enum\.(\w+)$/, ".$2");
}

/** As Google's REST servers write a field's name. */
function jsonName(protoName: string): string {
  return protoName.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

export function walkDescriptors(root: Descriptor, { roots, only }: Wanted): FieldTable {
  const table: FieldTable = { messages: {}, oneofs: {}, enums: {} };
  const waiting = [...roots];
  for (let fullName = waiting.pop(); fullName; fullName = waiting.pop()) {
    const name = tableName(fullName);
    if (table.messages[name] || table.enums[name]) continue;
    const found = find(root, fullName.split("."));
    if (!found) throw new Error(`The definitions have no ${fullName}.`);
    if (found.values) table.enums[name] = Object.keys(found.values);
    else readMessage(root, { fullName, name, found, kept: only[name] }, table, waiting);
  }
  return table;
}

interface Message {
  fullName: string;
  name: string;
  found: Descriptor;
  kept: string[] | undefined;
}

function readMessage(root: Descriptor, { fullName, name, found, kept }: Message, table: FieldTable, waiting: string[]): void {
  const fields: Record<string, string> = {};
  for (const [protoName, field] of Object.entries(found.fields ?? {})) {
    const json = jsonName(protoName);
    if (kept && !kept.includes(json)) continue;
    if (field.keyType) throw new Error(`${fullName}.${protoName} is a map, which the table has no word for.`);
    const type = scalars.has(field.type) ? field.type : resolve(root, fullName, field.type);
    const known = scalars.has(type) ? type : wellKnown[type];
    if (!known) waiting.push(type);
    fields[json] = `${known ?? tableName(type)}${field.rule === "repeated" ? "[]" : ""}`;
  }
  const missing = kept?.filter((field) => !fields[field]) ?? [];
  if (missing.length > 0) throw new Error(`${fullName} has no ${missing}.`);
  table.messages[name] = fields;
  // A group of one, named with an underscore, only says that the field knows "unset".
  const groups = Object.entries(found.oneofs ?? {}).filter(([group]) => !group.startsWith("_"));
  const members = groups.map(([, { oneof }]) => oneof.map(jsonName).filter((field) => fields[field])).filter((group) => group.length > 1);
  if (members.length > 0) table.oneofs[name] = members;
}

/** A name is looked for in the message itself, then in each scope around it, as protobuf does. */
function resolve(root: Descriptor, from: string, type: string): string {
  for (let scope = from.split("."); ; scope = scope.slice(0, -1)) {
    const candidate = [...scope, ...type.split(".")];
    if (wellKnown[type] || find(root, candidate)) return wellKnown[type] ? type : candidate.join(".");
    if (scope.length === 0) throw new Error(`${from} uses ${type}, which is not defined.`);
  }
}

function find(root: Descriptor, path: string[]): Descriptor | undefined {
  return path.reduce<Descriptor | undefined>((at, name) => at?.nested?.[name], root);
}
