import process from "node:process";
import type { RootHookObject } from "mocha";

/**
 * mocha ends by itself once nothing is left open; a run that does not end is killed by scripts/run-mocha.mjs and fails. This says, before
 * that, what was left: without it such a failure names nothing to look for. If it says nothing either, the process is past its last line of
 * JavaScript and spins in node's clean-up: see reset-socket.ts.
 */
const patienceMs = 10_000;

/** The handles are known to node under a name of its own only; nothing public tells a socket's port or a child's arguments. */
interface Handle {
  readonly constructor?: { readonly name: string };
  readonly spawnargs?: readonly string[];
  readonly localPort?: number;
  readonly remotePort?: number;
  readonly path?: string;
  readonly fd?: number;
  readonly destroyed?: boolean;
  readonly address?: () => unknown;
}

function describeHandle(handle: Handle): string {
  const details = {
    spawnargs: handle.spawnargs?.join(" "),
    localPort: handle.localPort,
    remotePort: handle.remotePort,
    path: handle.path,
    fd: handle.fd,
    destroyed: handle.destroyed,
    address: typeof handle.address === "function" ? handle.address() : undefined,
  };
  return `  ${handle.constructor?.name ?? "?"} ${JSON.stringify(details)}`;
}

function reportLeftOpen(): void {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles: () => readonly Handle[] };
  console.error(`left open after the tests: ${process.getActiveResourcesInfo().join(", ")}`);
  for (const handle of handles.call(process)) console.error(describeHandle(handle));
}

export const mochaHooks: RootHookObject = {
  afterAll() {
    setTimeout(reportLeftOpen, patienceMs).unref();
  },
};
