import { Receiver } from "@upstash/qstash";
import { env } from "#lib/env.ts";

/**
 * Whether a delivery really comes from our QStash: signed with the current or the next key, over this exact body,
 * and for this route. Without the url a message signed for one route would pass at another.
 */
export async function isSignedByQstash(signature: string, body: string, path: string): Promise<boolean> {
  const receiver = new Receiver({
    currentSigningKey: env().QSTASH_CURRENT_SIGNING_KEY,
    nextSigningKey: env().QSTASH_NEXT_SIGNING_KEY,
  });
  try {
    return await receiver.verify({ signature, body, url: new URL(path, env().APP_URL).href });
  } catch {
    return false;
  }
}
