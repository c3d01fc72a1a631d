import { createClient } from "@supabase/supabase-js";
import { databaseError } from "./database-error.ts";
import type { RpcTransport } from "./transport.ts";

interface SupabaseTransportOptions {
  url: string;
  secretKey: string;
}

/** The transport over Supabase's API, for a deployment without a direct connection. */
export function supabaseTransport({ url, secretKey }: SupabaseTransportOptions): RpcTransport {
  const client = createClient(url, secretKey, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    global: { fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(15_000) }) },
  });
  return {
    async call(name, args) {
      const { data, error } = await client.rpc(name, args);
      if (error) throw databaseError(error);
      return data ?? null;
    },
    close: async () => undefined,
  };
}
