import { type FieldProblem, findFieldProblems } from "#lib/providers/check-fields.ts";
import { type FieldViolation, malformedJson, Refusal } from "./failures.ts";

/** The body of a call, refused as Google's REST servers refuse what its definitions do not hold. */
export function parseJson<Body>(message: string, text: string): Body {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Refusal(malformedJson([{ field: "", description: "Invalid JSON payload received. Unexpected token." }]));
  }
  const problems = findFieldProblems(message, json);
  if (problems.length > 0) throw new Refusal(malformedJson(problems.map(describe)));
  return json as Body; // the table has just been asked
}

function snakeCase(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function describe({ path, kind, detail }: FieldProblem): FieldViolation {
  const field = snakeCase(path);
  if (kind === "unknown field") {
    const [, parent = "", name = path] = /^(.*)\.([^.]+)$/.exec(path) ?? [];
    const where = parent ? ` at '${snakeCase(parent)}'` : "";
    return { field: snakeCase(parent), description: `Invalid JSON payload received. Unknown name "${name}"${where}: Cannot find field.` };
  }
  return { field, description: `Invalid value at '${field}' (${detail})` };
}
