"use client";

import { useSyncExternalStore } from "react";

const query = "(max-width: 720px)";

function subscribe(listener: () => void): () => void {
  const media = window.matchMedia(query);
  media.addEventListener("change", listener);
  return () => media.removeEventListener("change", listener);
}

/** The phone's layout is in force. The server cannot know and says no. */
export const usePhone = () =>
  useSyncExternalStore(
    subscribe,
    () => window.matchMedia(query).matches,
    () => false,
  );
