// Generated from the database by `npm run types:generate`; a test fails when it is not current. Do not edit.

export type Json = string | number | boolean | null | { [key: string]: Json | undefined } | Json[];

/** The newest migration this code was written against. */
export const latestMigration = "20261116000400";

export interface Database {
  public: {
    Tables: Record<never, never>;
    Views: Record<never, never>;
    Functions: {
      accept_invitation: { Args: { p_invitation_id: string }; Returns: Json };
      api_key_site: { Args: { p_key_id: string }; Returns: Json };
      authenticate_api_key: { Args: { p_key_hash: string }; Returns: Json };
      call_event_secret: { Args: { p_public_id: string; p_rotate?: boolean }; Returns: Json };
      change_member_role: { Args: { p_public_id: string; p_user_id: string; p_role: Database["public"]["Enums"]["site_role"] }; Returns: Json };
      create_site: { Args: { p_name: string; p_domains: string[]; p_currency: string; p_timezone: string; p_locale: string; p_oci_sync_method?: string }; Returns: Json };
      create_site_api_key: { Args: { p_public_id: string; p_name: string }; Returns: Json };
      database_readiness: { Args: Record<never, never>; Returns: Json };
      decline_invitation: { Args: { p_invitation_id: string }; Returns: Json };
      get_site: { Args: { p_public_id: string }; Returns: Json };
      invite_site_member: { Args: { p_public_id: string; p_email: string; p_role: Database["public"]["Enums"]["site_role"] }; Returns: Json };
      list_my_sites: { Args: Record<never, never>; Returns: Json };
      list_site_api_keys: { Args: { p_public_id: string }; Returns: Json };
      list_site_members: { Args: { p_public_id: string }; Returns: Json };
      purge_expired_invitations: { Args: Record<never, never>; Returns: Json };
      remove_member: { Args: { p_public_id: string; p_user_id: string }; Returns: Json };
      revoke_site_api_key: { Args: { p_public_id: string; p_key_id: string }; Returns: Json };
      set_site_archived: { Args: { p_public_id: string; p_archived: boolean }; Returns: Json };
      update_site: { Args: { p_public_id: string; p_name: string; p_domains: string[]; p_currency: string; p_timezone: string; p_locale: string }; Returns: Json };
      withdraw_invitation: { Args: { p_public_id: string; p_invitation_id: string }; Returns: Json };
    };
    Enums: {
      site_role: "viewer" | "operator" | "owner";
    };
    CompositeTypes: Record<never, never>;
  };
}

/** What the service door may call, with argument names: they become SQL text, so nothing else is let through. */
export const serviceFunctions = {
  api_key_site: ["p_key_id"],
  authenticate_api_key: ["p_key_hash"],
  database_readiness: [],
  purge_expired_invitations: [],
} as const;

/** What signed-in people may call through the session door. */
export type SessionFunction =
  | "accept_invitation"
  | "call_event_secret"
  | "change_member_role"
  | "create_site"
  | "create_site_api_key"
  | "decline_invitation"
  | "get_site"
  | "invite_site_member"
  | "list_my_sites"
  | "list_site_api_keys"
  | "list_site_members"
  | "remove_member"
  | "revoke_site_api_key"
  | "set_site_archived"
  | "update_site"
  | "withdraw_invitation";
