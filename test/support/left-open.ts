import { createRequire } from "node:module";
import process from "node:process";
import type { RootHookObject } from "mocha";

/**
 * mocha ends by itself once nothing is left open; scripts/run-mocha.ts kills a run that does not end, which then fails. Some time before
 * that, this prints what was left open, so that the failure says where to look. If it prints nothing either, the process is past its last
 * line of JavaScript and spins in node's clean-up: see reset-socket.ts.
 */
const patienceMs = 10_000;

/** What node's internal handles may offer; nothing public gives a socket's port or a child's arguments. */
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

/** A timer as node holds it; a list's own head stands among its timers. */
interface HeldTimer {
  readonly _idleNext?: HeldTimer;
  readonly _onTimeout?: () => void;
  readonly hasRef?: () => boolean;
}

/** The timers that keep this process alive, with the beginnings of their callbacks. Nothing without `--expose-internals`: node has no public list. */
function describeTimers(): readonly string[] {
  if (!process.execArgv.includes("--expose-internals")) return [];
  const { timerListMap } = createRequire(import.meta.url)("internal/timers") as {
    readonly timerListMap: Readonly<Record<string, HeldTimer>>;
  };
  return Object.entries(timerListMap).flatMap(([ms, list]) =>
    timersOf(list)
      .filter((timer) => timer.hasRef?.() !== false)
      .map((timer) => `  timer of ${ms} ms: ${String(timer._onTimeout).replace(/\s+/g, " ").slice(0, 300)}`),
  );
}

function timersOf(list: HeldTimer): readonly HeldTimer[] {
  const timers: HeldTimer[] = [];
  for (let timer = list._idleNext; timer !== undefined && timer !== list; timer = timer._idleNext)
    timers.push(timer);
  return timers;
}

function reportLeftOpen(): void {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles: () => readonly Handle[] };
  console.error(`left open after the tests: ${process.getActiveResourcesInfo().join(", ")}`);
  for (const handle of handles.call(process)) console.error(describeHandle(handle));
  for (const line of describeTimers()) console.error(line);
}

export const mochaHooks: RootHookObject = {
  afterAll() {
    setTimeout(reportLeftOpen, patienceMs).unref();
  },
};
