/**
 * `npm run --silent privacy:export -- --site <public id> --phone … > person.json` gives everything that is stored of a person, as JSON.
 * Exits 2 when it is asked wrongly, 1 when the database refuses.
 */
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { exportPerson } from "#lib/privacy/export.ts";
import { readAsked } from "./operators-door.ts";

const asked = readAsked(`npm run privacy:export -- --site <public id> --phone <number> | --email <address> | --click <id> | --visitor <id>
  --out   a file; without it the JSON is printed`);
try {
  const target = asked.out ? createWriteStream(asked.out, { mode: 0o600 }) : process.stdout;
  for await (const chunk of exportPerson(asked.door, asked.person, asked.store)) if (!target.write(chunk)) await once(target, "drain");
  if (asked.out) {
    target.end();
    await once(target, "finish");
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await asked.end();
}
