import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { OciConfig, OciImage } from "../../../scripts/images/oci-image.js";
import { environment } from "./environment.js";
import { linkedLibraries } from "./linked-libraries.js";
import { relabelImage, writeImage, type LayerFiles } from "./oci-writer.js";
import { repositoryOf, type UpstreamSuite } from "./upstream-suite.js";

interface Content {
  readonly config: OciConfig["config"];
  readonly files: LayerFiles;
}

/**
 * The images that the suite's Pods name, by `repository:tag`, written into `directory`: our agent as flagd, and as the others programs of Debian that do
 * what the suite has them do.
 */
export function upstreamImages(
  { images }: UpstreamSuite,
  agent: OciImage,
  directory: string,
): ReadonlyMap<string, OciImage> {
  const contents = contentsOf(path.join(directory, "programs"));
  return new Map(
    images.map((image) => {
      const reference = repositoryOf(image);
      const name = path.basename(reference).replace(/:.*/, "");
      const layout = path.join(directory, name);
      if (name === "flagd") return [reference, relabelImage(agent, layout, { "bunting.test/copy": "flagd" })];
      const content = contents[name];
      if (content === undefined)
        throw new Error(`the suite names the image ${image}, and nothing is in its place`);
      return [reference, writeImage(layout, content.config, [content.files])];
    }),
  );
}

function contentsOf(directory: string): Readonly<Record<string, Content>> {
  const unpacked = environment("BUNTING_UPSTREAM_PROGRAMS");
  const empty = path.join(directory, "empty");
  mkdirSync(empty, { recursive: true });
  const text = (name: string, content: string): string => {
    const file = path.join(directory, name);
    writeFileSync(file, content);
    return file;
  };
  const nginx = path.join(unpacked, "usr/sbin/nginx");
  const busybox = path.join(unpacked, "bin/busybox");
  return {
    nginx: {
      config: { Entrypoint: [nginx.slice(unpacked.length), "-g", "daemon off;"] },
      files: {
        "usr/sbin/nginx": nginx,
        ...linkedLibraries(nginx),
        "etc/passwd": text("passwd", "root:x:0:0::/:/bin/false\nnobody:x:65534:65534::/:/bin/false\n"),
        "etc/group": text("group", "root:x:0:\nnogroup:x:65534:\n"),
        ...Object.fromEntries(["run", "var/log/nginx", "var/lib/nginx"].map((folder) => [folder, empty])),
      },
    },
    // Its script takes a shell that knows `[[` and substitution by patterns.
    curl: {
      config: {},
      files: {
        "bin/sh": "/bin/bash",
        "usr/bin/curl": "/usr/bin/curl",
        ...linkedLibraries("/bin/bash"),
        ...linkedLibraries("/usr/bin/curl"),
      },
    },
    busybox: {
      config: {},
      files: Object.fromEntries(["busybox", "sh", "sleep"].map((name) => [`bin/${name}`, busybox])),
    },
  };
}
