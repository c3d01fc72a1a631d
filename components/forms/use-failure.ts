"use client";

import { useEffect } from "react";
import { lookForNewVersion } from "#components/ui/new-version.ts";
import { useErrorText } from "./use-error-text.ts";

function digestOf(error: unknown): string | null {
  return error instanceof Error && "digest" in error && typeof error.digest === "string" ? error.digest : null;
}

/** What a page that did not load says, and the number support can look up. */
export function useFailure(error: unknown): { text: string; number: string | null } {
  const errorText = useErrorText();
  const digest = digestOf(error);
  // Without a number it happened in the browser, perhaps because a deployment took the page's files away.
  useEffect(() => {
    if (!digest) void lookForNewVersion();
  }, [digest]);
  // Our own errors send "<CODE> <request id>"; any other digest is only a number for support.
  const [, code = "INTERNAL", number = digest] = digest?.match(/^([A-Z_]+) (\S+)$/) ?? [];
  return { text: errorText(code), number };
}
