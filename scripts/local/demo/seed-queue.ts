/** The script site's queue: what its leads brought has been sent, and a usual week's troubles wait. */
import type postgres from "postgres";
import { QueueScene } from "#tests/fixtures/queue-scene.ts";
import type { Team } from "#tests/fixtures/team.ts";

/** What can go wrong, and what waits: three causes of failure, tries to come, stuck and held rows, a correction for a person. */
export async function addTroubles(scene: QueueScene): Promise<void> {
  const day = 24 * 60;
  const [toCorrect = "", ...others] = await scene.some(3, 3 * day);
  await scene.deliver([toCorrect, ...others], 3 * day - 40);
  const refusal = {
    code: "NO_CONVERSION_ACTION_FOUND",
    category: "VALIDATION",
    message: "No conversion action named OpsMantik_Won exists.",
  };
  await scene.fail(await scene.some(4, 4 * day), 4 * day - 60, refusal);
  await scene.fail(await scene.some(1, day), day - 60, refusal);
  const unreadable = { code: "UNPARSEABLE_GCLID", category: "VALIDATION", message: "The gclid cannot be decoded." };
  await scene.fail(await scene.some(2, 2 * day), 2 * day - 30, unreadable);
  const locked = { code: "USER_PERMISSION_DENIED", category: "AUTH", message: "The user has no access to the account." };
  await scene.fail(await scene.some(1, 5 * 60), 4 * 60, locked);
  const broken = { code: "APPLY_FAILED", category: "TRANSIENT", message: "Exception: Service timed out: Google Ads" };
  await scene.fail(await scene.some(3, 110), 60, broken);
  await scene.recover(28);
  await scene.claim(await scene.some(2, 50), 22);
  await scene.claim(await scene.some(1, 20), 3);
  await scene.some(4, 8);
  await scene.sendAtOnce(6);
  await scene.some(2, 4);
  await scene.correct(toCorrect, 199_000, 15);
}

/** A site whose script has sent what its leads brought, with the troubles of a usual week. */
export async function seedQueue(sql: postgres.Sql, team: Team, now = new Date()): Promise<void> {
  const scene = new QueueScene(sql, team, now);
  await scene.deliverWaiting(40);
  await scene.sendAtOnce();
  await addTroubles(scene);
}
