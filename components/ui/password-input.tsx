"use client";

import { Eye, EyeOff } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ComponentProps, useState } from "react";
import { Button } from "./button.tsx";
import { Input } from "./input.tsx";

/** A password with a button that shows it. Without JavaScript it is an ordinary password field. */
export function PasswordInput(props: Omit<ComponentProps<"input">, "type">) {
  const t = useTranslations("ui");
  const [shown, setShown] = useState(false);
  const Icon = shown ? EyeOff : Eye;
  return (
    <div className="affix">
      <Input {...props} type={shown ? "text" : "password"} spellCheck={false} autoCapitalize="off" />
      <Button tone="ghost" icon aria-label={shown ? t("hidePassword") : t("showPassword")} onClick={() => setShown(!shown)}>
        <Icon className="i" />
      </Button>
    </div>
  );
}
