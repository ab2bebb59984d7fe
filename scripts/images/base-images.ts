/**
 * The base images of our Dockerfiles, made from Debian's packages and npm's: for machines that reach no image registry, as CI's. They have
 * the shape of the published ones, so the Dockerfiles are built as they are, with other names for BUILD_IMAGE and RUNTIME_IMAGE. Run as a script
 * (`node --import=tsx scripts/images/base-images.ts`), it makes those for this machine.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { node24Version } from "../node24.js";
import { buildah, imageCache, missingForImages, report, run, whileNoOtherBuilds } from "./buildah.js";

export type Architecture = "amd64" | "arm64";

export const hostArchitecture: Architecture = process.arch === "arm64" ? "arm64" : "amd64";

const suite = "bookworm";
const npmVersion = "11.21.2";
const authorities = "/etc/ssl/certs/ca-certificates.crt";
/** What distroless/nodejs24-debian12 consists of, beside node. */
const commonPackages = ["netbase", "tzdata", "ca-certificates"];
const nativePackages = [
  "base-files",
  "libc6",
  "libssl3",
  "libgcc-s1",
  "gcc-12-base",
  "libgomp1",
  "libstdc++6",
];
const users = `root:x:0:0:root:/root:/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin
nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin
`;
const groups = `root:x:0:
nobody:x:65534:
tty:x:5:
staff:x:50:
nonroot:x:65532:
`;

/** How many versions of the base images are kept, the newest ones. */
const keptVersions = 2;

/** Changes with whatever the images are made from. */
const version = createHash("sha256")
  .update(readFileSync(import.meta.filename))
  .update(node24Version)
  .digest("hex")
  .slice(0, 12);

/** Makes both for this machine, unless they are there, or returns a sentence that says what is needed to make them. */
export function makeBaseImages(): string | undefined {
  const missing = missingForImages();
  if (missing !== undefined) return missing;
  // Looked for first, so as not to wait for a build of ours that stands on them.
  if (!isThere(runtimeName(hostArchitecture))) whileNoOtherBuilds(() => runtimeImage(hostArchitecture));
  return undefined;
}

/** The image of the build stage, of this machine's architecture: Debian with apt, node and npm, as node:24-bookworm-slim. Made once. */
export function buildImage(): string {
  const name = `localhost/bunting/build:${version}`;
  if (isThere(name)) return name;
  removeOldVersions();
  report("making the base image of the build stage (once; minutes)");
  return inDirectory((directory) => {
    const archive = path.join(directory, "debian.tar");
    run("mmdebstrap", ["--variant=apt", "--include=ca-certificates", suite, archive]);
    const node = unpack(directory, nodePackage(hostArchitecture));
    const npm = unpack(directory, `npm@${npmVersion}`);
    return inContainer("scratch", (container) => {
      buildah("add", container, archive, "/");
      buildah("copy", container, path.join(node, "bin"), "/usr/local/bin");
      buildah("copy", container, npm, "/usr/local/lib/node_modules/npm");
      // Packages are fetched with the authorities that this machine trusts, which may be those of a proxy.
      if (existsSync(authorities)) buildah("copy", container, authorities, authorities);
      const script = `
        cd /usr/local/bin
        for name in npm npx; do ln -s ../lib/node_modules/npm/bin/$name-cli.js $name; done
        chmod 755 *`;
      buildah("run", container, "--", "sh", "-ec", script);
      buildah("config", "--env", `NODE_EXTRA_CA_CERTS=${authorities}`, "--cmd", "node", container);
      buildah("commit", container, name);
      return name;
    });
  });
}

/** The image that ours are based on, as distroless/nodejs24-debian12:nonroot: Debian's libraries, node, no shell. Made once. */
export function runtimeImage(architecture: Architecture): string {
  const name = runtimeName(architecture);
  if (isThere(name)) return name;
  const libraries = `${name}-libraries`;
  // A container of the build stage unpacks the packages, because this machine may run another Debian.
  const build = buildImage();
  report(`making the base image of the images for ${architecture} (once)`);
  inContainer(build, (source) => {
    buildah("run", source, "--", "sh", "-ec", unpackingOf(architecture));
    inContainer("scratch", (container) => {
      buildah("copy", container, path.join(buildah("mount", source).trim(), "rootfs"), "/");
      // The variant is the one that buildah takes arm64 for.
      const platform = ["--arch", architecture, ...(architecture === "arm64" ? ["--variant", "v8"] : [])];
      const searched = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/nodejs/bin";
      const environment = ["--env", searched, "--env", `SSL_CERT_FILE=${authorities}`];
      buildah("config", ...platform, ...environment, "--entrypoint", '["/nodejs/bin/node"]', container);
      buildah("config", "--user", "65532", "--workingdir", "/home/nonroot", container);
      buildah("commit", container, libraries);
    });
  });
  return inDirectory((directory) => {
    const node = unpack(directory, nodePackage(architecture));
    return inContainer(libraries, (container) => {
      buildah("copy", "--chmod", "755", container, path.join(node, "bin/node"), "/nodejs/bin/node");
      buildah("copy", container, path.join(node, "LICENSE"), "/nodejs/LICENSE");
      buildah("commit", container, name);
      return name;
    });
  });
}

function runtimeName(architecture: Architecture): string {
  return `localhost/bunting/runtime:${version}-${architecture}`;
}

/** A shell script that makes /rootfs of Debian's packages, without running anything of them. */
function unpackingOf(architecture: Architecture): string {
  return `
    dpkg --add-architecture ${architecture}
    apt-get update
    mkdir -p /debs /rootfs/etc/ssl/certs /rootfs/home/nonroot /rootfs/tmp /rootfs/var/lib/dpkg/status.d
    cd /debs
    apt-get download ${commonPackages.join(" ")} ${nativePackages.map((name) => `${name}:${architecture}`).join(" ")}
    for package in *.deb; do
      dpkg -x $package /rootfs
      dpkg-deb --field $package > /rootfs/var/lib/dpkg/status.d/\${package%%_*}
    done
    cat /rootfs/usr/share/ca-certificates/mozilla/*.crt > /rootfs${authorities}
    printf %s '${users}' > /rootfs/etc/passwd
    printf %s '${groups}' > /rootfs/etc/group
    echo 'hosts: files dns' > /rootfs/etc/nsswitch.conf
    rm -rf /rootfs/usr/sbin /rootfs/etc/ca-certificates /rootfs/etc/cron* /rootfs/usr/share/lintian
    chmod 1777 /rootfs/tmp
    chown 65532:65532 /rootfs/home/nonroot`;
}

function inContainer<T>(image: string, work: (container: string) => T): T {
  const container = buildah("from", "--pull=never", image).trim();
  try {
    return work(container);
  } finally {
    buildah("rm", container);
  }
}

function nodePackage(architecture: Architecture): string {
  return `node-linux-${architecture === "amd64" ? "x64" : architecture}@${node24Version}`;
}

/** Fetches a package of npm and unpacks it below `directory`. */
function unpack(directory: string, specifier: string): string {
  const target = mkdtempSync(path.join(directory, "package-"));
  run("npm", ["pack", "--silent", "--pack-destination", target, specifier]);
  const archive = readdirSync(target)[0] ?? "";
  run("tar", ["-C", target, "--no-same-owner", "-xzf", path.join(target, archive)]);
  return path.join(target, "package");
}

function isThere(name: string): boolean {
  return buildah("images", "--format", "{{.Name}}:{{.Tag}}").split("\n").includes(name);
}

/** Makes room for a new version. Containers are left only by builds that were killed: no other process is building now. */
function removeOldVersions(): void {
  buildah("rm", "--all");
  const listed = buildah("images", "--format", "{{.CreatedAtRaw}} {{.Name}}:{{.Tag}}")
    .split("\n")
    .sort()
    .reverse();
  const names = listed.map((line) => line.slice(line.lastIndexOf(" ") + 1));
  const versionOf = (name: string): string | undefined =>
    /^localhost\/bunting\/(?:build|runtime):([0-9a-f]+)/.exec(name)?.[1];
  const versions = [...new Set(names.map(versionOf).filter((each) => each !== undefined))];
  const old = new Set(versions.slice(keptVersions - 1));
  const doomed = names.filter((name) => old.has(versionOf(name) ?? ""));
  if (doomed.length > 0) buildah("rmi", "--force", ...doomed);
}

function inDirectory<T>(work: (directory: string) => T): T {
  mkdirSync(imageCache, { recursive: true });
  const directory = mkdtempSync(path.join(imageCache, "making-"));
  try {
    return work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const missing = makeBaseImages();
  console.log(missing ?? runtimeName(hostArchitecture));
  if (missing !== undefined) process.exitCode = 2;
}
