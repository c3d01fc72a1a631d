"use client";

import { Eye, EyeOff } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ComponentProps, useState } from "react";
import { Button } from "./button.tsx";
import { cn } from "./cn.ts";
import { Input } from "./input.tsx";

/** A password with a button that shows it. Without JavaScript it is an ordinary password field. */
export function PasswordInput({ className, ...props }: Omit<ComponentProps<"input">, "type">) {
  const t = useTranslations("ui");
  const [shown, setShown] = useState(false);
  const Icon = shown ? EyeOff : Eye;
  return (
    <div className="relative">
      <Input {...props} className={cn("pr-12", className)} type={shown ? "text" : "password"} spellCheck={false} autoCapitalize="off" />
      <Button
        tone="ghost"
        icon
        className="absolute top-0.5 right-0.5 min-h-[calc(100%-4px)] w-10 max-desk:min-h-[calc(100%-4px)]"
        aria-label={shown ? t("hidePassword") : t("showPassword")}
        onClick={() => setShown(!shown)}
      >
        <Icon />
      </Button>
    </div>
  );
}
