"use client";

import { type ComponentType, useEffect, useState, useSyncExternalStore } from "react";
import { lookForNewVersion } from "./new-version.ts";

/** Loads once. A load that fails, as without a connection, is reported and not kept: the next one tries again. */
export function lateLoad<Found>(find: () => Promise<Found>, onFailed?: () => void) {
  let found: Found | undefined;
  let isLoading = false;
  const told = new Set<() => void>();
  return {
    found: () => found,
    onFound(tell: () => void): () => void {
      told.add(tell);
      return () => void told.delete(tell);
    },
    load(): void {
      if (found || isLoading) return;
      isLoading = true;
      find().then(
        (part) => {
          found = part;
          for (const tell of told) tell();
        },
        () => {
          isLoading = false;
          onFailed?.();
        },
      );
    },
  };
}

/** After each of these a part that is wanted and could not be loaded is asked for again. */
const anotherTry = ["click", "keydown", "online"];

/**
 * A part that no page needs to begin with, such as what floats over it: its code is loaded when it is first wanted, or before, by `load`.
 * Once it was wanted it stays, so that it can leave as it came. Not React's `lazy`: that keeps a failed load for good and throws it into the page.
 */
export function latePart<Props extends object>(find: () => Promise<ComponentType<Props>>) {
  const { found, onFound, load } = lateLoad(find, () => void lookForNewVersion());
  // biome-ignore lint/correctness/noComponentHookFactories: called once for each part, when its module is read
  function Part({ isWanted, ...props }: Props & { isWanted: boolean }) {
    const Found = useSyncExternalStore(onFound, found, () => undefined);
    const [wasWanted, setWanted] = useState(isWanted);
    if (isWanted && !wasWanted) setWanted(true);
    const isAwaited = isWanted && !Found;
    useEffect(() => {
      if (!isAwaited) return;
      load();
      for (const event of anotherTry) window.addEventListener(event, load);
      return () => {
        for (const event of anotherTry) window.removeEventListener(event, load);
      };
    }, [isAwaited]);
    if (!Found || !(wasWanted || isWanted)) return null;
    // What is left of the props is the part's own.
    return <Found {...(props as unknown as Props)} />;
  }
  return { Part, load, isHere: () => found() !== undefined };
}
