import { buildGoTools, requiredVersion, type Machinery } from "./go-machinery.js";

const module = "test/conformance/h2spec";

/** Builds h2spec unless it is in the cache. Rejects if the build fails. */
export function buildH2spec(): Promise<Machinery> {
  const version = requiredVersion(module, "github.com/summerwind/h2spec").replace("+incompatible", "");
  return buildGoTools({
    name: "h2spec",
    module,
    packages: ["github.com/summerwind/h2spec/cmd/h2spec"],
    what: `h2spec ${version} for the conformance tests of HTTP/2 (once; a minute)`,
  });
}
