/** Connects the demo's API site as its owner would: signed in, by the function behind the form on the connections page. */
import { createClient } from "@supabase/supabase-js";
import type { SessionClient } from "#lib/db/session-client.ts";
import type { Stack } from "../stack.ts";
import { bookScriptHistory } from "./book-history.ts";
import { connectDemo } from "./connect-demo.ts";
import type { DemoSeed } from "./seed-demo.ts";

/** Once; a later start finds the site connected. */
export async function connectAsOwner(stack: Stack, seed: DemoSeed): Promise<void> {
  Object.assign(process.env, stack.env); // the app's own code runs here, with the app's settings
  const { chooseActions, connectGoogleAds, readConnection } = await import("#lib/delivery/connect.ts");
  const db = await signInAsOwner(stack, seed);
  await connectDemo(seed, stack.google.url, async ({ siteId, credentials, actions }) => {
    if ((await readConnection(db, siteId)).connected) return;
    const { connected, test } = await connectGoogleAds(db, siteId, credentials);
    if (!connected) throw new Error(`The simulated Google refuses the demo's credentials: ${test.error?.message}`);
    await chooseActions(db, siteId, actions);
    await bookScriptHistory(stack.adminUrl, stack.google.url);
  });
}

type Auth = Pick<Stack, "supabaseUrl" | "publishableKey">;

export async function signInAsOwner({ supabaseUrl, publishableKey }: Auth, { users }: Pick<DemoSeed, "users">): Promise<SessionClient> {
  const owner = users.find(({ role }) => role === "owner");
  if (!owner) throw new Error("The demo has no owner.");
  const client: SessionClient = createClient(supabaseUrl, publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
  const { error } = await client.auth.signInWithPassword({ email: owner.email, password: owner.password });
  if (error) throw error;
  return client;
}
