import { isAsking } from "#components/ui/use-keys.ts";

/** Whether somebody uses the list: pointer or focus on it, scrolled, or covered by something. Then nothing may move in it. */
export function isListTouched(list: HTMLElement | null): boolean {
  if (!list) return false;
  const isHovered = window.matchMedia("(hover: hover)").matches && list.matches(":hover");
  return isHovered || list.contains(document.activeElement) || list.getBoundingClientRect().top < 0 || isAsking();
}
