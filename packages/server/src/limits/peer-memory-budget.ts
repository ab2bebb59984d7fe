import { heapLimitBytes, residentBytes } from "@bunting/runtime";

const mebibyte = 1024 * 1024;
/** Enough for 30,000 clients with a connection each. */
const maxBudgetBytes = 1024 * mebibyte;
const minBudgetBytes = 4 * mebibyte;
/** Part of the container for peers; flags, sources and uncharged memory have the rest. */
const containerShare = 3 / 4;

export interface MemoryLimits {
  readonly heapLimitBytes: number;
  /** Bytes that the process has allocated already. */
  readonly residentBytes: number;
  /** The limit of the container (cgroup); undefined without one. */
  readonly containerLimitBytes: number | undefined;
}

/**
 * Default of `--peer-memory`: the heap's share or the container's, the smaller one. To be called before there
 * are peers.
 */
export function defaultPeerMemoryBytes(heapShare: number, limits: MemoryLimits = memoryLimits()): number {
  const { heapLimitBytes, residentBytes, containerLimitBytes } = limits;
  const leftBytes =
    containerLimitBytes === undefined ? Infinity : (containerLimitBytes - residentBytes) * containerShare;
  const bytes = Math.min(heapLimitBytes * heapShare, leftBytes, maxBudgetBytes);
  return Math.floor(Math.max(minBudgetBytes, bytes));
}

function memoryLimits(): MemoryLimits {
  // 0 or an astronomical number if there is none.
  const containerLimitBytes = process.constrainedMemory();
  return {
    heapLimitBytes: heapLimitBytes(),
    residentBytes: residentBytes(),
    containerLimitBytes: containerLimitBytes > 0 ? containerLimitBytes : undefined,
  };
}
