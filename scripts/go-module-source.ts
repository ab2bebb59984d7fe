import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";

/**
 * The folder of a Go module's sources, fetched once into Go's own cache. Undefined, after a sentence that says so, where it can't be had.
 *
 * @param sum as in go.sum: what is fetched must be exactly that.
 * @throws Error if it is not.
 */
export function goModuleSource(module: string, version: string, sum: string): string | undefined {
  let text: string;
  try {
    text = execFileSync("go", ["mod", "download", "-json", `${module}@${version}`], {
      cwd: tmpdir(),
      encoding: "utf8",
      env: { ...process.env, GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "" },
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    console.log(`bunting: tests with ${module} are skipped: go mod download could not fetch it.`);
    return undefined;
  }
  const { Dir, Sum } = JSON.parse(text) as { Dir: string; Sum: string };
  if (Sum !== sum) throw new Error(`${module}@${version} has the sum ${Sum}, not ${sum}`);
  return Dir;
}
