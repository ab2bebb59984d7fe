import { eventually } from "./event-queue.js";

const releases: (() => unknown)[] = [];

/** Registers something to be released after the test, in reverse order. */
export function afterwards(release: () => unknown): void {
  releases.push(release);
}

/** Sockets and servers of this process, whose number must not grow. Timers are not counted, because mocha has some of its own. */
function openHandles(): number {
  return process
    .getActiveResourcesInfo()
    .filter((kind) => kind.startsWith("TCP") || kind.startsWith("Pipe") || kind.startsWith("HTTP")).length;
}

/** Call it in a describe block: after each test it releases what the test took, and fails the test if a socket is left. */
export function releaseAfterEach(): void {
  let handlesBefore = 0;
  beforeEach(() => {
    handlesBefore = openHandles();
  });
  afterEach(async () => {
    while (releases.length > 0) await releases.pop()?.();
    // Sockets close in the turn after the one that closed them.
    await eventually(() => openHandles() <= handlesBefore, "all sockets to be closed");
  });
}
