/** The page that was last counted as a view. */
export let page = "";
export let referrer = document.referrer;
/** What counts once per page and has been counted. */
let counted: Record<string | number, 1> = {};

/** The address without its fragment, which may hold secrets, unless the fragment is the route. */
export const shownPage = () => location.href.split(/#(?![/!])/)[0] as string;

/** Another page is shown, on which nothing has been counted. */
export function turnPage(shown: string): void {
  referrer = page || referrer;
  page = shown;
  counted = {};
}

/** A new query on the same path is how sites tidy their address (and drop gclid), not a page. */
export function tidyPage(): void {
  const shown = shownPage();
  if (shown.split("?")[0] === page.split("?")[0]) page = shown;
}

/** The same page is a new view: after withdrawn consent, or out of the browser's cache. */
export function forgetPage(): void {
  page = "";
}

// biome-ignore lint/suspicious/noAssignInExpressions: shorter, and every visitor downloads it.
export const firstOnPage = (what: string | number) => !counted[what] && (counted[what] = 1);
