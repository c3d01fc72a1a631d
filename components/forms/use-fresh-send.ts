"use client";

import { useSignInAgain } from "#components/auth/sign-in-again.tsx";
import { type Sent, sendJson } from "./send-json.ts";

/** sendJson for changes that may need a recent sign-in: then it asks for the password and sends again. Without one the refusal stands. */
export function useFreshSend(): (...request: Parameters<typeof sendJson>) => Promise<Sent> {
  const signInAgain = useSignInAgain();
  return async (...request) => {
    const sent = await sendJson(...request);
    if (sent.ok || sent.code !== "SIGN_IN_AGAIN") return sent;
    return (await signInAgain()) ? sendJson(...request) : sent;
  };
}
