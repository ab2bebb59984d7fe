import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Metafile } from "esbuild";

/** A package of npm that a bundle contains code of. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An expression of SPDX. */
  readonly license: string;
  /** The text of its licence; undefined if the package has no such file. */
  readonly licenseText: string | undefined;
}

/** The packages whose code came into the outputs of a build, sorted by name and version. What was left out of them does not count. */
export function bundledPackages(metafiles: readonly Metafile[], root: string): BundledPackage[] {
  const folders = new Set<string>();
  for (const { outputs } of metafiles) {
    for (const { inputs } of Object.values(outputs)) {
      for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
        const folder = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
        if (folder !== undefined && bytesInOutput > 0) folders.add(path.resolve(root, folder));
      }
    }
  }
  const order = ({ name, version }: BundledPackage): string => `${name}@${version}`;
  return [...folders].map(packageIn).sort((a, b) => (order(a) < order(b) ? -1 : 1));
}

function packageIn(folder: string): BundledPackage {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  if (license === undefined)
    throw new Error(`${name}@${version} names no licence: look at it before it is bundled`);
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const licenseText = file === undefined ? undefined : readFileSync(path.join(folder, file), "utf8").trim();
  return { name, version, license, licenseText };
}

/** The licences of a bundle's packages in one text; packages with the same licence share it. */
export function licenseTexts(packages: readonly BundledPackage[]): string {
  const byText = new Map<string, string[]>();
  for (const { name, version, license, licenseText } of packages) {
    const text = licenseText ?? `${license} (the package contains no text of it)`;
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version}`]);
  }
  return [...byText]
    .map(([text, names]) => `${names.join("\n")}\n\n${text}\n`)
    .join(`\n${"-".repeat(80)}\n\n`);
}
