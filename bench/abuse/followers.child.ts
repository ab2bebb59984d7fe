import { SubscriberConnection } from "../load/subscriber-connection.js";
import { subscriberProtocol, type ProtocolName } from "../load/subscriber-protocol.js";
import { serveCalls } from "../support/child-protocol.js";
import { monotonicMs } from "../support/monotonic.js";

/** The process of healthy subscribers: it notes when each of them has each version or a newer one. */

export interface FollowersOptions {
  readonly port: number;
  readonly protocol: ProtocolName;
  readonly topic: string;
  readonly count: number;
  /** The first versions of all; later ones count up. */
  readonly firstSequence: number;
  /** The third byte of the addresses 127.0.x.1 … 127.0.x.250 that they connect from. */
  readonly subnet: number;
}

export interface Followed {
  /** By edit: when each subscriber had it or a newer one, in ms of the clock that all processes share. */
  readonly arrivalsMs: readonly (readonly number[])[];
  /** Subscribers that lost their stream. */
  readonly lost: number;
  /** Why the first of them did. */
  readonly reason?: string;
}

const connections: SubscriberConnection[] = [];
const arrivalsMs: number[][] = [];
let lost = 0;
let reason: string | undefined;

const handlers = {
  /** Resolves when each has its first version. */
  connect: (options: FollowersOptions): Promise<void> =>
    new Promise((resolve) => {
      const { port, topic, count, firstSequence, subnet } = options;
      const protocol = subscriberProtocol(options.protocol, topic);
      let awaited = count;
      for (let index = 0; index < count; index++) {
        let newest = firstSequence - 1;
        let hasAny = false;
        connections.push(
          new SubscriberConnection({
            host: "127.0.0.1",
            port,
            localAddress: `127.0.${subnet}.${1 + (index % 250)}`,
            protocol,
            streams: 1,
            onMessage: (_, { kind, sequence }) => {
              if (kind === "other") return;
              const nowMs = monotonicMs();
              while (newest < sequence) (arrivalsMs[++newest - firstSequence] ??= []).push(nowMs);
              if (!hasAny && --awaited === 0) resolve();
              hasAny = true;
            },
            onEnd: (error) => {
              lost++;
              reason ??= error.message;
            },
          }),
        );
      }
    }),
  followed: (): Followed => ({
    arrivalsMs: arrivalsMs.map((times) => times.map((ms) => Math.round(ms * 10) / 10)),
    lost,
    ...(reason === undefined ? {} : { reason }),
  }),
};

serveCalls(handlers);

export type FollowersHandlers = typeof handlers;
