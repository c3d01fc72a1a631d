import { isAsking } from "#components/ui/use-keys.ts";

/** Whether a hand or the keyboard is on the list, it is scrolled, or something lies over it: then nothing may move in it. */
export function isListTouched(list: HTMLElement | null): boolean {
  if (!list) return false;
  const isHovered = window.matchMedia("(hover: hover)").matches && list.matches(":hover");
  return isHovered || list.contains(document.activeElement) || list.getBoundingClientRect().top < 0 || isAsking();
}
