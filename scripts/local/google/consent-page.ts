/** The page where a person lets an app act for their account, as short as it can be: choose, allow or cancel. */
import { randomBytes } from "node:crypto";
import { adsScope, dataManagerScope } from "./accounts.ts";
import { Refusal } from "./failures.ts";
import type { Sim } from "./sim.ts";
import type { Answer, Call } from "./sim-shapes.ts";

const codeLifeMs = 10 * 60_000;
const html = { "content-type": "text/html; charset=utf-8" };
const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** GET shows the page. POST, with the chosen account or none, goes back to the app. */
export function consentPage(sim: Sim, call: Call): Answer {
  const params = call.url.searchParams;
  const redirectUri = requireParams(sim, params);
  if (call.httpMethod === "GET") return { status: 200, body: pageOf(sim, params), headers: html };
  const back = new URL(redirectUri);
  const state = params.get("state");
  if (state !== null) back.searchParams.set("state", state);
  const customerId = new URLSearchParams(call.text).get("customer_id");
  if (customerId && sim.store.get("accounts", customerId)) {
    back.searchParams.set("code", newCode(sim, params, customerId, redirectUri));
    back.searchParams.set("scope", params.get("scope") ?? "");
  } else back.searchParams.set("error", "access_denied");
  return { status: 302, body: "", headers: { location: back.href } };
}

function requireParams({ store }: Sim, params: URLSearchParams): string {
  const refuse = (status: number, error: string) => new Refusal({ status, body: `<h1>Error ${status}: ${error}</h1>`, headers: html });
  if (!store.get("clients", params.get("client_id") ?? "")) throw refuse(401, "invalid_client");
  const redirectUri = params.get("redirect_uri") ?? "";
  if (!/^https?:\/\/(localhost|127\.0\.0\.1)(:\d+)?\//.test(redirectUri)) throw refuse(400, "redirect_uri_mismatch");
  if (params.get("response_type") !== "code") throw refuse(400, "unsupported_response_type");
  const unknown = (params.get("scope") ?? "")
    .split(" ")
    .filter((scope) => ![adsScope, dataManagerScope, "openid", "email"].includes(scope));
  if (unknown.length > 0) throw refuse(400, "invalid_scope");
  return redirectUri;
}

function newCode({ store, now }: Sim, params: URLSearchParams, customerId: string, redirectUri: string): string {
  const code = `4/${randomBytes(24).toString("base64url")}`;
  store.put("codes", code, {
    clientId: params.get("client_id") ?? "",
    redirectUri,
    customerId,
    scopes: (params.get("scope") ?? "").split(" "),
    challenge: params.get("code_challenge"),
    isOffline: params.get("access_type") === "offline",
    expiresAt: now() + codeLifeMs,
    isUsed: false,
  });
  return code;
}

function pageOf({ store }: Sim, params: URLSearchParams): string {
  const accounts = store.values("accounts").filter(({ isEnabled }) => isEnabled);
  const options = accounts.map(({ customerId, name }) => `<option value="${customerId}">${escapeHtml(name)} (${customerId})</option>`);
  const scopes = (params.get("scope") ?? "").split(" ").map((scope) => `<li>${escapeHtml(scope)}</li>`);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Choose an account</title>
<style>body{font:16px system-ui;max-width:26rem;margin:4rem auto;padding:0 1rem}select,button{font:inherit;padding:.5rem 1rem;margin:.5rem .5rem 0 0}</style>
<h1>Google simulator</h1><p>An app asks to act for an account:</p><ul>${scopes.join("")}</ul>
<form method="post"><label>Account <select name="customer_id">${options.join("")}</select></label><br><button>Allow</button></form>
<form method="post"><button>Cancel</button></form></html>`;
}
