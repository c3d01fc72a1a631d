import type { ConversionJob } from "#lib/providers/port.ts";

/** gclid with gbraid is allowed; wbraid goes alone. */
export function clickIds({ gclid, gbraid, wbraid }: ConversionJob) {
  if (gclid || gbraid) return { ...(gclid && { gclid }), ...(gbraid && { gbraid }) };
  return wbraid ? { wbraid } : null;
}

/** A hashed number leaves only with the visitor's consent. A sale from elsewhere brings its e-mail hash by its own right. */
export function identifierHashes({ phoneHash, emailHash, consent }: ConversionJob) {
  return { phoneHash: consent === "GRANTED" ? phoneHash : null, emailHash };
}
