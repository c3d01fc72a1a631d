import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";

export function purgeExpiredInvitations(): Promise<{ purged: number }> {
  return callRpc("purge_expired_invitations", {}, z.object({ purged: z.number() }));
}
