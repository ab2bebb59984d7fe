import { JsonScanner, ScanError } from "./json-scanner.js";

/** True for JSON that is an object of Kubernetes, as far as its first keys say: a flag document has `flags` before or instead of these. */
export function isManifest(json: Buffer): boolean {
  const scanner = new JsonScanner(json);
  try {
    if (!scanner.tryTake("{") || scanner.tryTake("}")) return false;
    do {
      scanner.skipWhitespace();
      const key = scanner.takeKey();
      if (key === "flags") return false;
      if (key === "kind" || key === "apiVersion") return true;
      scanner.take(":", "after a key");
      scanner.skipWhitespace();
      scanner.skipValue();
    } while (scanner.tryTake(","));
  } catch (error) {
    if (!(error instanceof ScanError)) throw error;
  }
  return false;
}

/** The same of YAML, whose keys of the outermost mapping are not indented. */
export function isYamlManifest(yaml: Buffer): boolean {
  return isManifest(yaml) || /^(?:kind|apiVersion)[ \t]*:/m.test(yaml.toString());
}
