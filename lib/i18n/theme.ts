/** "system" is stored as no cookie at all: the page then has no data-theme and CSS follows the device. */
export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export const themeCookie = "om_theme";

export function parseTheme(value: unknown): Theme {
  return themes.find((theme) => theme === value) ?? "system";
}
