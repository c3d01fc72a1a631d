"use client";

import { SunMoon } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import { cn } from "#components/ui/cn.ts";
import { setTheme } from "#lib/i18n/actions.ts";

/** Painted at once; the stored choice follows with the form. */
function paint(theme: "light" | "dark"): void {
  document.documentElement.dataset.theme = theme;
}

const goneWhen = { light: "light:hidden", dark: "dark:hidden" };

/** Two submit buttons of which CSS shows the one that leads away from the theme in force. With `words`, a look, it writes the label out. */
export function ThemeToggle({ words }: { words?: string }) {
  const t = useTranslations("preferences");
  return (
    <form action={setTheme}>
      {(["light", "dark"] as const).map((theme) =>
        words ? (
          <button key={theme} type="submit" name="theme" value={theme} className={cn(words, goneWhen[theme])} onClick={() => paint(theme)}>
            <SunMoon className="size-3.5" />
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
            className={goneWhen[theme]}
            aria-label={t(theme === "dark" ? "toDark" : "toLight")}
            onClick={() => paint(theme)}
          >
            <SunMoon />
          </Button>
        ),
      )}
    </form>
  );
}
