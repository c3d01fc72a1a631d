"use client";

import { SunMoon } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import { setTheme } from "#lib/i18n/actions.ts";

/** Painted at once; the stored choice follows with the form. */
function paint(theme: "light" | "dark"): void {
  document.documentElement.dataset.theme = theme;
}

/** Two submit buttons of which CSS shows the one that leads away from the theme in force. `words` also writes the label out. */
export function ThemeToggle({ words = false }: { words?: boolean }) {
  const t = useTranslations("preferences");
  return (
    <form action={setTheme}>
      {(["light", "dark"] as const).map((theme) =>
        words ? (
          <button key={theme} type="submit" name="theme" value={theme} className={`to-${theme}`} onClick={() => paint(theme)}>
            <SunMoon className="i i-14" />
            {t(theme === "dark" ? "toDark" : "toLight")}
          </button>
        ) : (
          <Button
            key={theme}
            type="submit"
            name="theme"
            value={theme}
            tone="ghost"
            size="sm"
            icon
            className={`to-${theme}`}
            aria-label={t(theme === "dark" ? "toDark" : "toLight")}
            onClick={() => paint(theme)}
          >
            <SunMoon className="i" />
          </Button>
        ),
      )}
    </form>
  );
}
