import { spawn } from "node:child_process";

export interface ToolResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ToolOptions {
  readonly stdin?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** Runs a program; resolves however it ends. */
export async function runTool(
  binary: string,
  args: readonly string[],
  { stdin = "", env = process.env, cwd }: ToolOptions = {},
): Promise<ToolResult> {
  const child = spawn(binary, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  child.stdin.on("error", () => undefined);
  child.stdin.end(stdin);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
}

/** Skips the tests of the describe block that it is called in where `npm run test:helm` has not found this tool; it has said why. */
export function skipWithout(
  ...variables: readonly ("BUNTING_HELM" | "BUNTING_PROMTOOL" | "BUNTING_CLUSTER_BIN")[]
): void {
  before(function () {
    if (variables.some((variable) => process.env[variable] === undefined)) this.skip();
  });
}
