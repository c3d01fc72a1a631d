/**
 * `npm run privacy:erase -- --site <public id> --phone …` shows what is stored of a person; with `--yes` it erases it and prints the
 * receipt. Exits 2 when it is asked wrongly, 1 when the database refuses.
 */
import { erasePerson, previewErasure } from "#lib/privacy/erase.ts";
import { readAsked } from "./operators-door.ts";

const asked = readAsked(`npm run privacy:erase -- --site <public id> --phone <number> | --email <address> | --click <id> | --visitor <id>
  --yes   erase; without it the command only says what it would reach`);
try {
  if (asked.isYes) {
    const receipt = await erasePerson(asked.door, asked.person, asked.store);
    console.log(JSON.stringify(receipt, null, 2));
    console.log("Keep the salt with the request: it is stored nowhere else. SHA-256 of <salt>:<identifier> is identifierHash.");
  } else {
    const { kinds, atGoogle, inFlight } = await previewErasure(asked.door, asked.person, asked.store);
    for (const { kind, rows, firstAt, lastAt } of kinds)
      console.log(`${String(rows).padStart(7)}  ${kind}${firstAt ? `  ${firstAt} to ${lastAt}` : ""}`);
    console.log(`${atGoogle} sales stay at Google; ${inFlight} conversions are in flight. Add --yes to erase.`);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await asked.end();
}
