import { execFile } from "node:child_process";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";

const root = path.resolve(import.meta.dirname, "../../..");
const execute = promisify(execFile);

/**
 * Packs a package that pnpm has installed for one of ours, as a registry would have it, and returns the archive. The version of npm that Node 20 comes
 * with can't pack every folder of pnpm's.
 */
export async function packInstalled(installed: string, directory: string): Promise<string> {
  const archive = path.join(directory, `${path.basename(installed)}.tgz`);
  const folder = realpathSync(path.join(root, installed));
  await execute("tar", ["-C", folder, "--transform", "s,^[.],package,", "-czf", archive, "."]);
  return archive;
}

/** A project that knows nothing of the workspace, in a directory of its own, and reaches no registry. */
export class Consumer {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory);
    this.write("package.json", JSON.stringify({ name: "consumer", private: true, type: "module" }));
  }

  write(name: string, text: string): void {
    writeFileSync(path.join(this.#directory, name), text);
  }

  /** Installs archives, with an empty cache: whatever is not among them fails. */
  async install(packages: readonly string[]): Promise<void> {
    const quiet = ["--no-audit", "--no-fund", "--ignore-scripts"];
    const cache = path.join(this.#directory, ".npm");
    await this.run("npm", "install", "--offline", "--cache", cache, ...quiet, ...packages);
  }

  node(...args: readonly string[]): Promise<string> {
    return this.run(process.execPath, ...args);
  }

  /** TypeScript as a user has it: strict, and looking into the libraries' types. */
  async typeCheck(...files: readonly string[]): Promise<void> {
    const options = [
      "--strict",
      "--noEmit",
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--skipLibCheck",
      "false",
    ];
    const tsc = path.join(root, "node_modules/typescript/bin/tsc");
    await this.node(tsc, "--types", "node", ...options, ...files);
  }

  /**
   * Runs a program and returns what it has printed, the results first.
   *
   * @throws Error with what the program has printed if it fails
   */
  async run(command: string, ...args: readonly string[]): Promise<string> {
    // No condition or loader of the tests' own reaches it.
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: this.#directory,
      npm_config_update_notifier: "false",
    };
    try {
      const { stdout, stderr } = await execute(command, args, { cwd: this.#directory, env });
      return `${stdout}${stderr}`;
    } catch (error) {
      const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string };
      throw new Error(`${command} ${args.join(" ")} failed:\n${stdout ?? ""}${stderr ?? ""}`, {
        cause: error,
      });
    }
  }
}
