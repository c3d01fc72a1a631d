"use client";

import { useSyncExternalStore } from "react";

let isHere = false;
let lastLookMs = 0;
const told = new Set<() => void>();
const lookAgainMs = 10_000;

function onFound(tell: () => void): () => void {
  told.add(tell);
  return () => void told.delete(tell);
}

/** Whether the deployment that drew this page has been replaced, as far as a failed load has shown. */
export const useNewVersion = () =>
  useSyncExternalStore(
    onFound,
    () => isHere,
    () => false,
  );

/**
 * Asked after a part could not be loaded: are the files that this page was made of still there? One that is gone means a new deployment.
 * No answer at all means no connection, and says nothing.
 */
export async function lookForNewVersion(): Promise<void> {
  if (isHere || Date.now() - lastLookMs < lookAgainMs) return;
  lastLookMs = Date.now();
  const files = [...document.scripts].map(({ src }) => src).filter((src) => src.includes("/_next/static/"));
  const answers = await Promise.allSettled(files.map((src) => fetch(src, { method: "HEAD", cache: "no-store" })));
  isHere = answers.some((answer) => answer.status === "fulfilled" && answer.value.status === 404);
  if (isHere) for (const tell of told) tell();
}
