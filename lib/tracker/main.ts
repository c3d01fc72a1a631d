/** The tracker of a customer's site. docs/tracker.md says what it sends and when. */
import { consent, followConsentMode } from "./consent.ts";
import { consentRequired, endpoint, refused, site } from "./install.ts";
import { stamp, track } from "./track.ts";
import { readAddress } from "./visit.ts";

const commands = {
  event: (name: string, options?: { label?: string; value?: number }) => track(`${name}`.slice(0, 60), options?.label, options?.value),
  consent: (scopes?: string | string[]) => consent(([] as string[]).concat(scopes || [])),
  stamp: () => stamp,
};

type Command = keyof typeof commands;
type Tracker = ((command: Command, ...args: unknown[]) => unknown) & typeof commands & { q?: [Command, ...unknown[]][] };

const host = window as { om?: Partial<Tracker> };
const early = host.om;

function begin(): void {
  readAddress();
  if (consentRequired && !refused) followConsentMode();
  else consent();
  for (const call of early?.q || []) (host.om as Tracker)(...call);
}

// A page that carries the snippet twice is counted once.
if (endpoint && site && !early?.stamp) {
  const om = (command: Command, ...args: unknown[]) => (commands[command] as (...values: unknown[]) => unknown)?.(...args);
  host.om = Object.assign(om, commands);
  // A page rendered ahead of a visit is not a visit yet.
  if ((document as { prerendering?: boolean }).prerendering) document.addEventListener("prerenderingchange", begin);
  else begin();
}
