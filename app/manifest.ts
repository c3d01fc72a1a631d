import type { MetadataRoute } from "next";
import { getTranslations } from "next-intl/server";
import { brandName } from "#components/ui/brand.tsx";

/** Lets a phone put OpsMantik on its home screen, where it opens on its own. */
export default async function manifest(): Promise<MetadataRoute.Manifest> {
  const t = await getTranslations("meta");
  return {
    name: brandName,
    short_name: brandName,
    description: t("description"),
    start_url: "/dashboard",
    display: "standalone",
    background_color: "#f7f7f8",
    theme_color: "#2447c5",
    icons: [
      { src: "/icon-192.png", sizes: "192x192", type: "image/png" },
      { src: "/icon-512.png", sizes: "512x512", type: "image/png" },
      { src: "/icon-maskable.png", sizes: "512x512", type: "image/png", purpose: "maskable" },
    ],
  };
}
