import { readFileSync } from "node:fs";

/** From `low`, and below `high`. */
export interface PortSlice {
  readonly low: number;
  readonly high: number;
}

/** How many runs of mocha may have a slice of ports of their own at once, on one machine. What has none draws from one more, that all others share. */
export const slotCount = 13;

/** Of 1,000 ports each, if the kernel leaves that many: it gives ports from 32768 on to outgoing connections unless it was told otherwise. */
const usual: PortSlice = { low: 18_000, high: 32_000 };

/**
 * The ports that tests may choose: never one that the kernel may give to an outgoing connection. A client that tries to reach a server which
 * is being restarted could otherwise be given the server's own port, and keep it from starting.
 *
 * @param ephemeral What /proc/sys/net/ipv4/ip_local_port_range says: the first and the last port.
 */
export function portsBeside([first, last]: readonly [number, number]): PortSlice {
  if (first >= usual.high || last < usual.low) return usual;
  // Never below: services of the machine listen there, and the locks of scripts/test-slot.ts and stock-ports.ts.
  const before = { low: usual.low, high: first };
  const behind = { low: last + 1, high: 65_536 };
  const widest = widthOf(before) >= widthOf(behind) ? before : behind;
  // A kernel that gives out all ports leaves no choice.
  return widthOf(widest) > slotCount ? widest : usual;
}

/** The slice of a slot, or the one that is shared. No port is in two of them. */
export function sliceOf(
  slot: number | undefined,
  ports: PortSlice = portsBeside(ephemeralPorts()),
): PortSlice {
  const width = Math.floor(widthOf(ports) / (slotCount + 1));
  const low = ports.low + (slot ?? slotCount) * width;
  return { low, high: low + width };
}

/** Tells a mocha which slot was taken for it. */
export const slotVariable = "BUNTING_TEST_SLOT";

/** The slot that scripts/test-slot.ts has taken for this mocha; without one (mocha started by hand, a benchmark), undefined. */
export function ownSlot(): number | undefined {
  const slot = Number(process.env[slotVariable] ?? Number.NaN);
  return Number.isInteger(slot) && slot >= 0 && slot < slotCount ? slot : undefined;
}

function widthOf({ low, high }: PortSlice): number {
  return high - low;
}

function ephemeralPorts(): readonly [number, number] {
  try {
    const [first = 32_768, last = 60_999] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8")
      .trim()
      .split(/\s+/)
      .map(Number);
    return [first, last];
  } catch {
    // Not Linux: macOS and Windows begin at 49152.
    return [49_152, 65_535];
  }
}
