import type { OciImage } from "../images/oci-image.js";
import { OciLayout } from "./oci-layout.js";

const indexType = "application/vnd.oci.image.index.v1+json";

/**
 * Writes one OCI layout with an image for several platforms: an index of their manifests, under the name `tag`. Whoever copies the name with all that it
 * refers to has all platforms.
 */
export function mergeLayouts(images: readonly OciImage[], tag: string, target: string): void {
  const layout = new OciLayout(target);
  const manifests = images.map(({ manifest, config, layers, settings }) => {
    for (const { file, mediaType } of [config, ...layers]) layout.addFile(file, mediaType);
    return { ...layout.addFile(manifest.file, manifest.mediaType), platform: platformOf(settings) };
  });
  layout.publish(layout.addJson({ schemaVersion: 2, mediaType: indexType, manifests }, indexType), tag);
}

function platformOf({ architecture, os }: OciImage["settings"]): object {
  const variant = architecture === "arm64" ? { variant: "v8" } : {};
  return { architecture, os, ...variant };
}
