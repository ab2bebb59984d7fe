import type { BundledPackage } from "./bundled-packages.js";

/**
 * The software bill of materials of a bundle, in CycloneDX's JSON. It has no time and no serial number, so that the same sources give the same
 * bytes. `lock` is the text of pnpm-lock.yaml, from which the packages' digests come.
 */
export function sbom(
  program: { readonly name: string; readonly version: string },
  packages: readonly BundledPackage[],
  lock: string,
): string {
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        "bom-ref": program.name,
        type: "application",
        name: program.name,
        version: program.version,
        licenses: [{ license: { id: "Apache-2.0" } }],
      },
    },
    components: packages.map((each) => component(each, lock)),
    dependencies: [{ ref: program.name, dependsOn: packages.map(packageUrl) }],
  };
  return `${JSON.stringify(bill)}\n`;
}

function component(bundled: BundledPackage, lock: string): object {
  const { name, version, license } = bundled;
  const isExpression = /[ ()]/.test(license);
  return {
    "bom-ref": packageUrl(bundled),
    type: "library",
    name,
    version,
    purl: packageUrl(bundled),
    licenses: [isExpression ? { expression: license } : { license: { id: license } }],
    hashes: [{ alg: "SHA-512", content: digestOf(`${name}@${version}`, lock) }],
  };
}

/** https://github.com/package-url/purl-spec: the scope's @ is percent-encoded. */
function packageUrl({ name, version }: BundledPackage): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

/** The digest of the package's archive, in hexadecimal. */
function digestOf(specifier: string, lock: string): string {
  const escaped = specifier.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const entry = new RegExp(`^ {2}'?${escaped}'?:\\n {4}resolution: \\{integrity: sha512-([^,}]+)`, "m");
  const digest = entry.exec(lock)?.[1];
  if (digest === undefined) throw new Error(`pnpm-lock.yaml has no digest of ${specifier}`);
  return Buffer.from(digest, "base64").toString("hex");
}
