/** 1234567890 as Google writes it: 123-456-7890. */
export function shownCustomerId(id: string): string {
  return /^\d{10}$/.test(id) ? `${id.slice(0, 3)}-${id.slice(3, 6)}-${id.slice(6)}` : id;
}

/**
 * The full name of a conversion action from what people have at hand: the name itself, its number, or the address of its page in Google Ads,
 * which carries the number as `ctId`. Anything else comes back as it is, for the server to refuse. An account that is no number is refused in
 * its own field, so it does not make the action wrong as well.
 */
export function toActionName(text: string, customerId: string): string {
  const given = text.trim();
  const number = /^\d+$/.exec(given)?.[0] ?? /[?&#]ctId=(\d+)/.exec(given)?.[1];
  const account = customerId.replaceAll(/\D/g, "") || "0";
  return number ? `customers/${account}/conversionActions/${number}` : given;
}

/** `customers/1/conversionActions/2` → 2; any other text comes back unchanged. */
export function actionNumber(action: string): string {
  return /\/conversionActions\/(\d+)$/.exec(action)?.[1] ?? action;
}

/** Which action of Google's list is meant: the one that was given, else the enabled one that carries the conversion's own name, else none. */
export function chooseListed(
  list: readonly { action: string; name: string; isEnabled: boolean }[],
  given: string,
  conversionName: string,
): string {
  const isGiven = list.some(({ action }) => action === given);
  return isGiven ? given : (list.find(({ name, isEnabled }) => isEnabled && name === conversionName)?.action ?? "");
}
