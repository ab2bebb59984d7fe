import { buildGoTools, requiredVersion, type Machinery } from "../../../scripts/go-machinery.js";

const module = "test/images/compose";

/** Builds Docker's Compose plugin, which Debian does not have, unless it is in the cache: a program `cmd`. Rejects if the build fails. */
export function buildCompose(): Promise<Machinery> {
  const version = requiredVersion(module, "github.com/docker/compose/v2");
  return buildGoTools({
    name: "compose",
    module,
    packages: ["github.com/docker/compose/v2/cmd"],
    what: `Docker Compose ${version} for the test of its page (once; 3 minutes on two cores)`,
  });
}
