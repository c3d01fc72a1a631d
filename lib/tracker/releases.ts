/** The version in the tracker's address. Raise it to change the tracker once the current one is installed anywhere. */
export const trackerVersion = 2;

/**
 * The integrity of every version, written by hand. Installed snippets carry it: a browser refuses a file that changed under
 * its address, and that site would go silent. So a version's file stays in public/ as it was.
 */
export const releasedIntegrity: Record<number, string> = {
  1: "sha384-5tik8bpY/K++ZsvQHOR5KmiFY4HauzPyr02JIrEZHVXLKJepULGZPb6gvMyUmg/Y",
  2: "sha384-kS7JrOF3eZdCxTYdmnR+3re4ZW8SPRR8F866JlHEU9XABvzIXQ2eJYN6Xv4gPnpq",
};
