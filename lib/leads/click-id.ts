/** Google takes a click for 90 days. */
export const clickLifeMs = 90 * 86_400_000;

export interface ClickIds {
  gclid: string | null;
  wbraid: string | null;
  gbraid: string | null;
}
