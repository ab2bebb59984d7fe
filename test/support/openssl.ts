import { spawn, spawnSync } from "node:child_process";

/** Why there is no `openssl` to test with; undefined if there is one. */
export function missingOpenssl(): string | undefined {
  const { status } = spawnSync("openssl", ["version"]);
  return status === 0 ? undefined : "skipped: there is no openssl on this machine";
}

/** Connects with `openssl s_client`, sends one request over HTTP/1.1, and returns all that it says until the server closes the connection. */
export async function sClient(port: number, ...args: readonly string[]): Promise<string> {
  const child = spawn("openssl", ["s_client", "-connect", `127.0.0.1:${port}`, "-ign_eof", ...args]);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  // It may have closed.
  child.stdin.on("error", () => undefined);
  child.stdin.end("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  await new Promise((resolve) => child.once("close", resolve));
  return output;
}
